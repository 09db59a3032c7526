"""Calls of the user's own functions, read back from the frames of the equations they made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from jaxaudit.frontends.jaxpr.frames import NOWHERE
from jaxaudit.frontends.jaxpr.nesting import Call, place_of
from jaxaudit.frontends.jaxpr.runs import outside_inputs
from jaxaudit.frontends.jaxpr.segments import Segment
from jaxaudit.frontends.jaxpr.sites import Site
from jaxaudit.ir import Value
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.jaxpr.equations import Body


def lower_call(body: Body, segment: Segment, call: Call) -> None:
    """Lower the equations that one call made."""
    lower_reading(body, segment, "py.call", call.name, call.span, place_of(call), {"function": call.name})


def lower_reading(
    body: Body, segment: Segment, op: str, label: str, span: Span, place: Span, attrs: Mapping[str, object]
) -> None:
    """Lower a segment whose entries are not marked: it is given what its equations read from outside."""
    writer = body.writer
    start, stop = body.runs[segment.first].start, body.runs[segment.last].stop
    site = Site(span, True, NOWHERE, body.sites[start].around)
    read = [atom for atom in outside_inputs(body.equations[start:stop]) if isinstance(body.env_value(atom), Value)]
    operands = [body.value(atom, span) for atom in read]
    params = [writer.like(value, place) for value in operands]
    with writer.builder.nested("function", label, place, params) as region:
        body.env.update(zip(read, params, strict=True))
        body.lower(segment.items)
        left = left_behind(body, start, stop)
        inner = [body.value(out, span) for out in left]
    writer.builder.close(region, tuple(inner))
    results = [writer.like(value, span) for value in inner]
    writer.hold(op, site, operands, attrs, results, (region,))
    body.bind(read, operands)
    body.bind(left, results)


def left_behind(body: Body, start: int, stop: int, given: Collection[Any] = ()) -> list[Any]:
    """Give the variables made in a stretch of equations that are read after it, or handed to the caller for nothing."""
    return [
        out
        for equation in body.equations[start:stop]
        for out in equation.outvars
        if (body.last_use.get(out, -1) >= stop or out in given) and out in body.env
    ]
