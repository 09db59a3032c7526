"""Steps that parameters take along a gradient, or against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import ahead, through_ops, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.ops import LOOPS
from jaxaudit.ir.record import record
from jaxaudit.rules.gradients._shared.directions import Direction, Directions
from jaxaudit.rules.gradients._shared.optimizers import APPLIES, STATES, outside, parts


@record
class Taken:
    """A step, and which way it goes."""

    op: Op
    direction: Direction
    changed: frozenset[Value]
    """What it starts from, leaf by leaf."""


def steps(program: Program, flow: Flow, directions: Directions) -> Iterator[Taken]:
    """Return every step of parameters whose direction is known: of an optimizer, or by hand."""
    for op in program.calling(*APPLIES):
        found = directions.of(op.arguments.get("updates"))
        if found is not None:
            changed = parts(flow, op.arguments.get("params", op.arguments.get("model")))
            yield Taken(op, found, all_resolved(changed, flow))
    for op in program.calling(*STATES):
        found = directions.of(op.arguments.get("grads"))
        if found is not None and directions.states_descend:
            yield Taken(op, replace(found.turned(), optimizer=op), frozenset())
    for op in program.mapping("add", "subtract"):
        x, y = op.arguments.get("x"), op.arguments.get("y")
        for changed, step in ((x, y), (y, x)) if op.function == "add" else ((x, y),):
            found = directions.of(step) if isinstance(step, Value) else None
            leaves = outside(flow, changed) if found is not None and isinstance(changed, Value) else ()
            start = all_resolved(leaves, flow)
            if found is not None and not start.isdisjoint(_taken_at(found, flow)):
                yield Taken(op, found.turned(by=op.function == "subtract"), start)


def _taken_at(found: Direction, flow: Flow) -> frozenset[Value]:
    """Return where a gradient was taken, leaf by leaf."""
    operands = found.source.operands
    return all_resolved([operands[at] for at in found.source.differentiated or () if at < len(operands)], flow)


def all_resolved(values: Iterable[Value], flow: Flow) -> frozenset[Value]:
    """Return where values come from, in this turn of a loop."""
    return frozenset(origin(flow, one, {}, in_turn=True).value for one in values)


def given_on(op: Op, flow: Flow) -> Iterator[Value]:
    """Return what a step gives, under all names that it has before the next turn of a loop."""

    def elsewhere(value: Value) -> Iterator[Value]:
        for one in ahead(flow, value, through_ops("tree.leaf")):
            entry = flow.entered(one)
            if entry is None or entry.op.name not in LOOPS:
                yield one

    return walk(op.results, elsewhere)
