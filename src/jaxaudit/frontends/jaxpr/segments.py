"""Puts the flat equations of a jaxpr into the functions and transformations they were made under.

Equations that one call made stand next to each other. The two halves of a gradient belong to one segment, and so does
what stands between them; any other transformation that is left and entered again becomes two segments.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jaxaudit.frontends.jaxpr.frames import NOWHERE
from jaxaudit.frontends.jaxpr.nesting import Call, Step, place_of
from jaxaudit.frontends.jaxpr.records import Record
from jaxaudit.frontends.jaxpr.runs import outside_inputs
from jaxaudit.frontends.jaxpr.sharing import Passage
from jaxaudit.frontends.jaxpr.sites import Key, Site
from jaxaudit.frontends.jaxpr.variables import result_names
from jaxaudit.ir import Region, Value
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.jaxpr.equations import Body

_WHOLE = ("grad", "value_and_grad", "jacrev", "hessian", "jacfwd")
"""Kinds that run as a whole before anything else does, so that gaps belong to them."""


@dataclass(slots=True)
class Segment:
    """One passage through a transformation or a function: a run of items, some of which are segments themselves."""

    key: Step
    record: Record | None
    """The call of a transformation; None for a plain function."""
    items: list[int | Segment] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The position of its first item."""
        item = self.items[0]
        return item if isinstance(item, int) else item.first

    @property
    def last(self) -> int:
        """The position of its last item."""
        item = self.items[-1]
        return item if isinstance(item, int) else item.last


def arrange(stacks: Sequence[tuple[Step, ...]], records: Mapping[int, Record]) -> list[int | Segment]:
    """Nest positions by the transformations around them."""
    last = _last(stacks)
    top: list[int | Segment] = []
    opened: list[Segment] = []
    before: tuple[Step, ...] = ()
    for position, stack in enumerate(stacks):
        if stack is before and len(stack) == len(opened):
            (opened[-1].items if opened else top).append(position)
            continue
        before = stack
        del opened[_kept(opened, stack, position, last) :]
        for key in stack[len(opened) :]:
            segment = Segment(key, records[key.uid] if isinstance(key, Key) else None)
            (opened[-1].items if opened else top).append(segment)
            opened.append(segment)
        (opened[-1].items if opened else top).append(position)
    return top


def _last(stacks: Sequence[tuple[Step, ...]]) -> dict[Step, int]:
    """Return the last position under each transformation."""
    found: dict[Step, int] = {}
    before: tuple[Step, ...] = ()
    for position, stack in enumerate(stacks):
        if stack is not before:
            found.update((key, position - 1) for key in before if isinstance(key, Key))
            before = stack
    found.update((key, len(stacks) - 1) for key in before if isinstance(key, Key))
    return found


def _kept(opened: Sequence[Segment], stack: Sequence[Step], position: int, last: Mapping[Step, int]) -> int:
    """Return how many of the open segments go on."""
    kept = 0
    while kept < min(len(opened), len(stack)) and opened[kept].key == stack[kept]:
        kept += 1
    if kept < len(stack):
        return kept
    while kept < len(opened) and _is_whole(opened[kept]) and last[opened[kept].key] > position:
        kept += 1
    return kept


def _is_whole(segment: Segment) -> bool:
    return segment.record is not None and segment.record.kind in _WHOLE


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
