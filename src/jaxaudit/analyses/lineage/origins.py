"""Where a value comes from: back through calls, borders and loops to the op that really made it.

A body that several calls share has one origin for each caller. A *context* says, for such bodies, which call is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import BODIES, LOOPS
from jaxaudit.ir.record import record

Context = Mapping[int, Op]
"""For the identity of a shared region, the call that is meant."""

_STEPS = 64
"""How many ops and calls a value is followed through."""
_CONTEXTS = 12


@record
class Origin:
    """The value that another one is, and how far that holds."""

    value: Value
    op: Op | None
    """What made it; None for a parameter nothing is known of."""
    first_turn: bool = False
    """True when it is so in the first turn of a loop, and perhaps not later."""
    stacked: tuple[Op, ...] = ()
    """The scans whose steps were stacked on the way, nearest first."""
    context: Context = field(default_factory=dict)
    """The calls that were entered on the way: what to follow the operands of `op` with."""
    name: str = ""
    """The name nearest to where it was made."""


def origin(flow: Flow, value: Value, context: Context, *, in_turn: bool = False) -> Origin:
    """Follow a value back as far as it is the same value, or all its versions in the steps of a scan.

    With `in_turn` it is not followed out of the turn of a loop: two carries that start alike are two values.
    """
    calls = dict(context)
    first_turn, stacked, name = False, list[Op](), value.name
    for _ in range(_STEPS):
        name = value.name or name
        op = flow.maker(value)
        if op is None:
            before = _before(flow, value, calls)
            if before is None or (in_turn and before[1]):
                break
            value, looped = before
            first_turn |= looped
        else:
            inside = _inside(flow, op, value)
            if inside is None:
                break
            if op.name == "scan":
                stacked.append(op)
            for region in op.regions:
                calls[id(region)] = op
            value = inside
    return Origin(value, flow.maker(value), first_turn, tuple(stacked), calls, value.name or name)


def is_differentiated(flow: Flow, value: Value) -> bool:
    """Whether a value is, inside of calls, an argument that a derivative around it is taken with respect to."""
    for _ in range(_STEPS):
        region = flow.places.owner.get(value)
        op = None if region is None else flow.places.holder.get(id(region))
        if region is None or op is None:
            return False
        at = flow.position(region.params, value)
        chosen = op.differentiated
        if op.name == "grad" and chosen is not None and at in chosen:
            return True
        if op.name not in BODIES or len(region.params) != len(op.operands):
            return False
        value = op.operands[at]
    return False


def _before(flow: Flow, value: Value, calls: dict[int, Op]) -> tuple[Value, bool] | None:
    """Return what a parameter stands for outside, and whether that holds in the first turn only."""
    region = flow.places.owner.get(value)
    if region is None:
        return None
    op = flow.places.holder.get(id(region)) or calls.get(id(region))
    if op is None:
        return None
    if op.name in BODIES and len(region.params) == len(op.operands):
        return op.operands[flow.position(region.params, value)], False
    if op.name in LOOPS:
        return next(((start, True) for param, start, _ in Loop(op).carried_in(region) if param is value), None)
    return None


def _inside(flow: Flow, op: Op, value: Value) -> Value | None:
    """Return the value inside a call or a scan that a result of it is, or is made of step by step."""
    position = flow.position(op.results, value)
    region = op.regions[0] if op.regions else None
    if region is None or position >= len(region.results):
        return None
    if op.name in BODIES:
        return region.results[position]
    count = op.carry
    return region.results[position] if op.name == "scan" and count is not None and position >= count else None


def contexts(flow: Flow, op: Op) -> Iterator[Context]:
    """Return every way in which control reaches an op through bodies that calls share, within reason.

    Calls further out than a value is followed are left open.
    """
    pending: list[tuple[Region, dict[int, Op]]] = [(flow.places.region_of[op], {})]
    given = 0
    while pending and given < _CONTEXTS:
        region, calls = pending.pop()
        top = flow.places.top(region)
        callers = flow.callers.get(id(top), ())
        if not callers or id(top) in calls or len(calls) == _STEPS:
            given += 1
            yield calls
            continue
        pending.extend((flow.places.region_of[caller], {**calls, id(top): caller}) for caller in callers)


def same(flow: Flow, first: Origin, second: Origin) -> bool:
    """Whether two origins are one value: in a body that calls share, only if the same call is meant."""
    if first.value is not second.value:
        return False
    region = flow.places.region_of_value(first.value)
    top = None if region is None else id(flow.places.top(region))
    return top not in flow.callers or first.context.get(top) is second.context.get(top)
