"""Two parts of a loop's state of which one is computed from the other, and is one turn behind after the first.

A loop starts with a state and what is observed of it. If each turn gives back the new state, and what is observed of
the one that the turn began with, whoever acts on the observation acts on the past.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import Origin, origin
from jaxaudit.analyses.queries import depends
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import LOOPS
from jaxaudit.rules.base import Obligation, Step, Verdict

_DEEPEST = 6
_COMPUTES = ("array.", "py.item")


@dataclass(slots=True)
class _Turns:
    """What the parts of a loop's state are at its start, in a turn, and after it."""

    flow: Flow
    region: Region
    starts: dict[Value, int]
    params: dict[Value, int]
    ends: dict[int, Value]
    stale: set[int] = field(default_factory=set)
    other: bool = False
    """True where the two computations differ in something else, or the newer state takes part."""


def out_of_step(rule: str, program: Program, flow: Flow) -> Iterator[Obligation]:
    """Return every part of a loop's state that is computed from the state before, where it began with its own."""
    for op in program.named(*sorted(LOOPS)):
        if op.regions and len(op.operands) > 1:
            yield from _judge(rule, op, flow)


def _judge(rule: str, op: Op, flow: Flow) -> Iterator[Obligation]:
    region = op.regions[-1]
    parts = [one for one in Loop(op).carried_in(region) if one[2] < len(region.results)]
    moved = [(param, start, at) for param, start, at in parts if region.results[at] is not param]
    if len(moved) < 2:
        return
    ends = {at: origin(flow, region.results[at], {}, in_turn=True) for _, _, at in moved}
    for param, start, at in moved:
        first, later = origin(flow, start, {}), ends[at]
        if not _computes(first.op) or not _is_same_line(first, later):
            continue
        turns = _Turns(
            flow,
            region,
            {origin(flow, one, {}).value: place for _, one, place in moved if place != at},
            {one: place for one, _, place in moved if place != at},
            {place: end.value for place, end in ends.items()},
        )
        _walk(turns, first, later, 0)
        if turns.stale and not turns.other and _acts_on(param, turns, flow):
            newer = ends[min(turns.stale)]
            yield _told(rule, later, newer, param, next(one for one, _, place in moved if place in turns.stale), flow)


def _computes(op: Op | None) -> bool:
    return op is not None and op.name.startswith(_COMPUTES) and bool(op.operands)


def _is_same_line(first: Origin, later: Origin) -> bool:
    """Whether one line made both, for the start and in a turn."""
    one, other = first.op, later.op
    if one is None or other is None or one.span != other.span or one.name != other.name:
        return False
    return len(one.operands) == len(other.operands) and one.qualified == other.qualified


def _walk(turns: _Turns, first: Origin, later: Origin, depth: int) -> None:
    """Compare what two runs of one line were given, and note where the second was given the state before."""
    assert first.op is not None
    assert later.op is not None
    for one, other in zip(first.op.operands, later.op.operands, strict=True):
        then = origin(turns.flow, one, first.context)
        now = origin(turns.flow, other, later.context, in_turn=True)
        place = turns.starts.get(then.value)
        if place is not None:
            if turns.params.get(now.value) == place and turns.ends[place] is not now.value:
                turns.stale.add(place)
            else:
                turns.other = True
        elif then.value is now.value:
            continue
        elif depth < _DEEPEST and _computes(then.op) and _is_same_line(then, now):
            _walk(turns, then, now, depth + 1)
        else:
            turns.other = True


def _acts_on(param: Value, turns: _Turns, flow: Flow) -> bool:
    """Whether the new state depends on what was computed from the old one."""
    return any(depends(flow, turns.ends[place], (param,)) for place in turns.stale)


def _told(rule: str, later: Origin, newer: Origin, param: Value, state: Value, flow: Flow) -> Obligation:
    assert later.op is not None
    op = later.op if newer.op is None else flow.through(later.op, newer.op, calls=later.context)
    name, old = (f"`{one.name}`" if one.name else otherwise for one, otherwise in ((param, "it"), (state, "the state")))
    return Obligation(
        rule,
        op.span,
        Verdict.VIOLATED,
        message=f"{name} goes into the next turn as computed from {old} of the turn before, not from the newer one",
        current=f"the loop starts with {name} of its own {old}; from the first turn on it is one step behind",
        expected=f"{name} is computed from the newer {old}, as at the start",
        steps=() if newer.op is None else (Step(newer.op.span, f"the newer {old} is made here"),),
        suggestion="compute it from the new state",
    )
