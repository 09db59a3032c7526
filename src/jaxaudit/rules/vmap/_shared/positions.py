"""Positions along an axis that nested maps made, and the arrays that they are used on.

`jnp.argmin(cost, axis=1)` counts along axis 1 of `cost`. Where a `vmap` made that axis, the positions belong to what
that `vmap` mapped, and not to what the other one did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import nothing, readers, sources
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.mapped import axes_of, place_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import PICKED_POSITIONS


@dataclass(frozen=True, slots=True)
class Used:
    """Positions that are used on an array which one of two nested maps goes over."""

    found: Op
    """What counts along an axis."""
    use: Op
    array: Value
    own: Op
    """The map that made the axis."""
    other: Op | None
    """The map that goes over the array, where that is another one."""


def positions_used(program: Program, flow: Flow, shapes: Shapes) -> Iterator[Used]:
    """Return every use of positions along an axis of nested maps on an array that one of them goes over."""
    for op in program.named("array.order", "array.reduce"):
        if op.function in PICKED_POSITIONS and op.operands:
            own, others = _maps(op, shapes)
            yield from _uses(op, own, others, flow) if own and others else ()


def _maps(op: Op, shapes: Shapes) -> tuple[list[Op], list[Op]]:
    """Return the maps that the axis has come out of along which an op counts, and those of the other axes."""
    axis = op.argument("axis")
    for context in shapes.contexts(op):
        dims = context.of(op.operands[0]).dims
        place = place_of(axis, len(dims)) if dims is not None and isinstance(axis, int) else None
        if dims is None or place is None:
            continue
        makers = [[label.op for label in dim.labels if label.kind == "vmap" and label.op is not None] for dim in dims]
        own, others = makers.pop(place), [one for some in makers for one in some]
        return [one for one in own if one not in others], [one for one in others if one not in own]
    return [], []


def _uses(op: Op, own: list[Op], others: list[Op], flow: Flow) -> Iterator[Used]:
    for use in readers(flow, op.results[0]):
        array = use.base if use.name == "py.item" and use.arguments.get("index") in op.results else None
        names = sources(flow, (array,), nothing) if array is not None else set()
        over = [one for one in (*own, *others) if not names.isdisjoint(_mapped(one, flow))]
        if array is not None and over:
            inner = max(own, key=lambda one: flow.places.order[one])
            yield Used(op, use, array, inner, None if over[0] in own else over[0])


def _mapped(op: Op, flow: Flow) -> set[Value]:
    """Return the arrays that a map goes over, under all names they have."""
    taken = [value for value, axis in zip(op.operands, axes_of(op), strict=True) if axis == 0]
    return sources(flow, taken, nothing)
