"""Copies that a loop leaves behind: of two that are read as one, it renews the first and hands the second on as it was.

A teacher starts as a copy of a student, weights and statistics. Each turn renews both of the student, and the weights
of the teacher: statistics of the teacher that stay what they were belong to no network there is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import permutations

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin, part_of
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import Loop, given_to
from jaxaudit.ir.record import record
from jaxaudit.spans import Span

_CALLS = ("py.call", "py.call_library", "py.call_unknown", "array.map", "tree.map")


@record
class _Slot:
    """A part of the state of a loop."""

    param: Value
    start: tuple[object, ...]
    """What it starts as, written so that two which start alike have it in common."""
    still: bool
    """Whether each turn hands it on as it was."""


@record
class Left:
    """A copy that stays what it was, the one it is a copy of, and the two that go with them."""

    copy: Value
    model: Value
    partner: Value
    read: Op
    """Where the copy is read together with its partner."""
    span: Span
    """Where it is handed on."""


def left_copies(loop: Loop, flow: Flow) -> Iterator[Left]:
    """Return the parts of a loop's state that stand still though all that belongs to them moves."""
    slots = [
        _Slot(one.param, part_of(flow, one.start, {}), _same(flow, following) is one.param)
        for one, (_, following) in zip(loop.carried, loop.successors, strict=False)
    ]
    alike = defaultdict[tuple[object, ...], list[_Slot]](list)
    for slot in slots:
        alike[slot.start].append(slot)
    pairs = [(a, b) for group in alike.values() for a, b in permutations(group, 2) if not b.still]
    waiting, moving = [one for one in pairs if one[0].still], [one for one in pairs if not one[0].still]
    calls = list(_calls(loop, flow)) if waiting and moving else []
    for copy, model in waiting:
        for partner, other in moving:
            read = _read_together((copy, partner), (model, other), calls) if partner.start != copy.start else None
            if read is not None:
                yield Left(copy.param, model.param, partner.param, read, _handed_on(loop, copy.param, flow))
                break


def _same(flow: Flow, value: Value) -> Value:
    return origin(flow, value, {}, in_turn=True).value


def _calls(loop: Loop, flow: Flow) -> Iterator[tuple[Op, Sequence[Value]]]:
    """Return the calls in the turns of a loop, with what each is given as the loop knows it."""
    for op in loop.body.walk():
        if op.name in _CALLS and len(op.operands) > 1:
            yield op, [_same(flow, one) for one in op.operands]


def _read_together(
    copies: tuple[_Slot, _Slot], models: tuple[_Slot, _Slot], calls: Sequence[tuple[Op, Sequence[Value]]]
) -> Op | None:
    """Return the call that is given two copies in the places in which a call of the same function gets the models."""
    own = [(op, at) for op, given in calls if (at := _places(copies, given))]
    others = {(op.name, op.qualified, at) for op, given in calls if (at := _places(models, given))}
    return next((op for op, at in own if (op.name, op.qualified, at) in others), None)


def _places(slots: tuple[_Slot, _Slot], given: Sequence[Value]) -> tuple[int, ...]:
    found = [given.index(one.param) for one in slots if one.param in given]
    return tuple(found) if len(found) == len(slots) else ()


def _handed_on(loop: Loop, param: Value, flow: Flow) -> Span:
    """Return where a turn writes the copy down again: in a changed copy of a record, or where it returns it."""

    def inside(value: Value) -> Iterator[Value]:
        for op in flow.readers.get(value, ()):
            yield from (one for region in op.regions for one, given in given_to(op, region) if given is value)

    names = set(walk((param,), inside))
    for op in loop.body.walk():
        for field, had in (op.restored or {}).items() if op.name == "py.replace" else ():
            if names.intersection(had):
                return (op.option_places or {}).get(field, op.span)
    ends = (op.span for op in loop.body.walk() if op.name == "py.return" and names.intersection(op.operands))
    return next(ends, loop.op.span)
