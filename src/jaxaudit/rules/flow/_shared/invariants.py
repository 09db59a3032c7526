"""What holds of the parts of a loop's state when it starts: `force` is `forces(position)`, and `position` moves."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import depends
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.record import record


@record
class Outdated:
    """A part of a loop's state that starts as a function of another one, and does not follow it."""

    param: Value
    moving: Value
    """The part that it starts as a function of."""
    start: Op
    """The call that it starts as."""
    newer: Op
    """The call of the same function in a turn, for what the other part becomes."""


def outdated(loop: Loop, flow: Flow) -> Iterator[Outdated]:
    """Return the parts that stand still though each turn computes what they would have to be.

    That holds where the other part is computed from it: a value of the start that is kept for comparison is not.
    """
    slots = [(one.param, one.start, after) for one, (_, after) in zip(loop.carried, loop.successors, strict=False)]
    handed_on = {_turn(flow, after) for _, _, after in slots}
    moving = {origin(flow, start, {}).value: (param, after) for param, start, after in slots if after is not param}
    for param, start, after in slots:
        if _turn(flow, after) is not param:
            continue
        for call in _calls(flow, start):
            for given in call.operands:
                other, renewed = moving.get(origin(flow, given, {}).value, (None, None))
                if other is None or renewed is None or not depends(flow, renewed, (param,)):
                    continue
                newer = next((op for op in loop.body.walk() if _renews(op, call, renewed, flow)), None)
                if newer is not None and handed_on.isdisjoint(_turn(flow, one) for one in newer.results):
                    yield Outdated(param, other, call, newer)


def _turn(flow: Flow, value: Value) -> Value:
    """Return what a value was before it crossed borders inside of one turn."""
    return origin(flow, value, {}, in_turn=True).value


def _calls(flow: Flow, value: Value) -> Iterator[Op]:
    """Return the calls of functions of the program that give a value, the innermost first."""
    found = origin(flow, value, {})
    if found.op is not None and found.op.regions:
        yield found.op
    home = flow.places.region_of_value(found.value)
    for _, holder in flow.places.up(home) if home is not None else ():
        if holder is not None and holder.in_place and found.value in holder.results:
            yield holder


def _renews(op: Op, call: Op, renewed: Value, flow: Flow) -> bool:
    """Whether an op is a call of the same function for what a part of the state becomes."""
    alike = op is not call and (op.name, op.qualified) == (call.name, call.qualified) and _bodies(op) == _bodies(call)
    return alike and not _chosen(flow, renewed).isdisjoint(_turn(flow, one) for one in op.operands)


def _chosen(flow: Flow, value: Value) -> set[Value]:
    """Return what a value is, or is one of: a proposal that is taken or not."""
    own = _turn(flow, value)
    made = flow.maker(own)
    arms = (made.value("x"), made.value("y")) if made is not None and made.name == "array.select" else ()
    return {own, *(_turn(flow, one) for one in arms if one is not None)}


def _bodies(op: Op) -> list[object]:
    return [region.span for region in op.regions]
