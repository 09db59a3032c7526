"""Mapped axes that are provably not the one they are mapped with, while the fitting one stands beside them.

Names are not needed here: `x.reshape(-1, n, d)` has what `-1` left over in front of an axis of size `n`, and a `vmap`
or `pmap` that maps the first axis together with another array of `n` rows was to map the second.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.meetings import Side, taken_sides
from jaxaudit.analyses.dims import Dim, same
from jaxaudit.analyses.labels import related
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.record import record


@record
class Misplaced:
    """An operand of a map whose mapped axis is another one than the others have."""

    op: Op
    astray: Side
    fitting: int
    """The place of the axis that the others have."""
    partner: Value | None
    """An operand that it is mapped with; None where it is mapped over the devices."""


def misplaced_axes(program: Program, shapes: Shapes) -> Iterator[Misplaced]:
    """Return the operands of every map that are mapped over the wrong axis, by sizes alone."""
    for op in program.named("vmap", "pmap"):
        for context in shapes.contexts(op):
            yield from _judged(op, taken_sides(op, context.of))


def _judged(op: Op, sides: list[Side]) -> Iterator[Misplaced]:
    for side in sides:
        for other in sides:
            fitting = None if other is side else _fitting(side, other.dim)
            if fitting is not None and _fitting(other, side.dim) is None:
                yield Misplaced(op, side, fitting, other.value)
        fitting = _of_devices(side) if op.name == "pmap" else None
        if fitting is not None:
            yield Misplaced(op, side, fitting, None)


def _of_devices(side: Side) -> int | None:
    """Return the place of the axis with one entry for each device, where another one is mapped."""
    if any(label.kind == "devices" for label in side.dim.labels):
        return None
    return next((at for at, dim in side.others if any(label.kind == "devices" for label in dim.labels)), None)


def _fitting(side: Side, wanted: Dim) -> int | None:
    """Return the place of the wanted axis, where the mapped one cannot be it."""
    if same(side.dim, wanted) and not _is_rest(side.dim):
        return None
    for place, dim in side.others:
        if dim.constant is None and same(dim, wanted) and not same(side.dim, wanted):
            return place
        if _is_rest(side.dim) and related(dim.labels, wanted.labels) and not related(side.dim.labels, wanted.labels):
            return place
    return None


def _is_rest(dim: Dim) -> bool:
    return any(label.kind == "rest" for label in dim.labels)
