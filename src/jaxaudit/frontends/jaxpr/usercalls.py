"""Calls of the user's own functions, read back from the frames of the equations they made."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxaudit.frontends.jaxpr.frames import NOWHERE
from jaxaudit.frontends.jaxpr.nesting import Call, place_of
from jaxaudit.frontends.jaxpr.records import Record
from jaxaudit.frontends.jaxpr.runs import outside_inputs
from jaxaudit.frontends.jaxpr.segments import Segment
from jaxaudit.frontends.jaxpr.sharing import Passage
from jaxaudit.frontends.jaxpr.sites import Site
from jaxaudit.frontends.jaxpr.variables import result_names
from jaxaudit.ir import Region, Value
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.jaxpr.equations import Body


def lower_call(body: Body, segment: Segment, call: Call) -> None:
    """Lower the equations that one call made, or use what was made of an earlier call that did the same."""
    passage = _passage(body, segment, "py.call", call.span, {"function": call.name})
    sharing = body.writer.sharing
    region = sharing.find(call, passage)
    if region is not None:
        left = [out for one in passage.equations for out in one.outvars if body.last_use.get(out, -1) >= passage.stop]
        if len(region.results) == len(left):
            _leave(passage, region, left)
            return
    region = _enter(passage, segment, call.name, place_of(call))
    sharing.keep(call, passage, region)


def lower_reading(body: Body, segment: Segment, record: Record, op: str, attrs: Mapping[str, object]) -> None:
    """Lower a segment whose entries are not marked: it is given what its equations read from outside."""
    around = body.sites[body.runs[segment.first].start].around
    label = around.rule.name if around.rule is not None and not around.turned else record.function
    _enter(_passage(body, segment, op, record.span, attrs), segment, label, record.span)


def _passage(body: Body, segment: Segment, op: str, span: Span, attrs: Mapping[str, object]) -> Passage:
    start, stop = body.runs[segment.first].start, body.runs[segment.last].stop
    equations = body.equations[start:stop]
    read = [atom for atom in outside_inputs(equations) if isinstance(body.env_value(atom), Value)]
    return Passage(body, start, stop, equations, read, op, span, attrs)


def _enter(passage: Passage, segment: Segment, label: str, place: Span) -> Region:
    body, writer = passage.body, passage.body.writer
    operands = body.values(passage.read, passage.span)
    params = [writer.like(value, place) for value in operands]
    with writer.builder.nested("function", label, place, params) as region:
        body.bind(passage.read, params)
        body.lower(segment.items)
        left = left_behind(body, passage.start, passage.stop)
        inner = [body.value(out, passage.span) for out in left]
    writer.builder.close(region, tuple(inner))
    body.bind(passage.read, operands)
    _leave(passage, region, left)
    return region


def _leave(passage: Passage, region: Region, left: Sequence[Any]) -> None:
    """Append the op that holds the region, with results for what is read after it."""
    body, writer, span = passage.body, passage.body.writer, passage.span
    results = [writer.like(value, span) for value in region.results]
    site = Site(span, True, NOWHERE, body.sites[passage.start].around)
    if passage.op == "py.call" and not site.around.turned:
        goes_on = passage.stop < len(body.sites) and body.sites[passage.stop].span == span
        named = result_names(span, region.span, ends=not goes_on)
        for inner, made in zip(region.results, results, strict=True):
            made.name = named(inner.span, inner.name) or made.name
    writer.hold(passage.op, site, body.values(passage.read, span), passage.attrs, results, (region,))
    body.bind(left, results)


def left_behind(body: Body, start: int, stop: int, given: Collection[Any] = ()) -> list[Any]:
    """Return the variables made in a stretch of equations that are read after it.

    Or handed to the caller for nothing.
    """
    return [
        out
        for equation in body.equations[start:stop]
        for out in equation.outvars
        if (body.last_use.get(out, -1) >= stop or out in given) and out in body.env
    ]
