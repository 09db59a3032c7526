"""Time steps that `vmap` takes apart, around a function that runs backwards through another axis."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.shapes import ShapeFact, Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.rules.axes._shared.phrases import name_of, shape_of
from jaxaudit.rules.base import Obligation, Step, Verdict


def steps_mapped(rule: str, program: Program, flow: Flow, shapes: Shapes) -> Iterator[Obligation]:
    """Return every map over the steps of a scan whose function scans the rest from its end to its beginning."""
    scanned = _scanned_backwards(program, flow)
    for op in program.named("vmap") if scanned else ():
        for value, param in _first_axes(op):
            fact, scan = shapes.of(value), scanned.get(param)
            if scan is not None and _is_steps_first(fact):
                yield _finding(rule, op, value, fact, scan)
                break


def _scanned_backwards(program: Program, flow: Flow) -> dict[Value, Op]:
    """Return the first scan that goes backwards through each array, outside of calls and before conversions."""
    sums, found = Sums(flow, {}), dict[Value, Op]()
    for scan in program.named("scan"):
        for _, value in Loop(scan).elements if scan.reverse else ():
            found.setdefault(sums.source(value), scan)
    return found


def _first_axes(op: Op) -> Iterator[tuple[Value, Value]]:
    """Return each operand whose first axis is mapped, and what the function sees of it."""
    pairs = zip(op.operands, op.regions[0].params, op.in_axes or (), strict=False)
    return ((value, param) for value, param, axis in pairs if axis == 0)


def _is_steps_first(fact: ShapeFact) -> bool:
    """Whether a scan collected the first axis of an array, and another one was there in each of its steps."""
    if fact.dims is None or len(fact.dims) < 2:
        return False
    made = [{label.kind for label in dim.labels} for dim in fact.dims[:2]]
    return "scan" in made[0] and "scan" not in made[1]


def _finding(rule: str, op: Op, value: Value, fact: ShapeFact, scan: Op) -> Obligation:
    return Obligation(
        rule,
        op.span,
        Verdict.VIOLATED,
        message=f"`vmap` takes the steps of {name_of(value)} {shape_of(fact.dims or ())} apart, axis 0",
        current="its function runs backwards through what is left, as if that were time; the steps never meet",
        expected="the other axis is mapped, and the function runs through the steps",
        steps=(Step(scan.span, "this scan runs from the end to the beginning, through the other axis"),),
        suggestion="give `vmap` `in_axes=1`, and `out_axes=1` to keep the layout",
    )
