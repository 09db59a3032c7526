"""Maps that take the axis away that has an order, and leave their function one along which nothing follows on anything.

A function that smooths, transforms or goes through a series is mapped over many series, one for each unit. Where the
array has moments that were counted along the mapped axis, and units along the other, it gets all units of one moment.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import in_order
from jaxaudit.analyses.queries import ahead, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.mapped import axes_of, place_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import GROWING_ALONG, IN_ORDER
from jaxaudit.ir.interfaces import Mapped, Recurrence
from jaxaudit.ir.ops import ELEMENTWISE, PASSED_ON
from jaxaudit.ir.record import record


@record
class Series:
    """A map whose function works in order along what is left of an array."""

    op: Op
    array: Value
    dims: tuple[Dim, ...]
    mapped: int
    worker: Op
    """What works in order inside."""
    sensible: bool
    """Whether what is left has an order, and not what was taken away."""


def series(program: Program, facts: Facts) -> Iterator[Series]:
    """Return every map of an array of two axes, one with an order and one without, whose function works in order."""
    shapes = facts.get(Shapes)
    for op in program.named("vmap"):
        for param, array, axis in _taken(op):
            worker = _worker(param, facts)
            for context in shapes.contexts(op) if worker is not None else ():
                dims = context.of(array).dims
                place = None if dims is None or len(dims) != 2 else place_of(axis, 2)
                if worker is None or dims is None or place is None:
                    continue
                if _is_counted(dims[place]) and _is_of_units(dims[1 - place], shapes):
                    yield Series(op, array, dims, place, worker, sensible=False)
                elif _is_counted(dims[1 - place]) and _is_of_units(dims[place], shapes):
                    yield Series(op, array, dims, place, worker, sensible=True)


def _taken(op: Op) -> Iterator[tuple[Value, Value, int]]:
    elements = dict(Mapped(op).elements)
    pairs = zip(op.regions[0].params, op.operands, axes_of(op), strict=False)
    return ((param, array, axis) for param, array, axis in pairs if param in elements and isinstance(axis, int))


def _worker(param: Value, facts: Facts) -> Op | None:
    """Return what works along the only axis of an element in the order of that axis."""
    ways = walk((param,), lambda one: ahead(facts.flow, one, through_ops(*ELEMENTWISE, *PASSED_ON)))
    reading = ((one, op) for one in ways for op in facts.flow.readers.get(one, ()))
    return next((op for one, op in reading if _works_along(op, one)), None)


def _works_along(op: Op, value: Value) -> bool:
    """Whether an op minds the order of an axis: a sum up to each element may be a distribution over units."""
    view = Recurrence.of(op) if op.name != "array.scan" else None
    return value in view.elements if view is not None else op.function in IN_ORDER and op.operands[:1] == (value,)


def _is_counted(dim: Dim) -> bool:
    """Whether the places along an axis were counted, so that they follow one another."""
    return any(one.kind == "ordered" and one.op is not None and one.op.function in GROWING_ALONG for one in dim.labels)


def _is_of_units(dim: Dim, shapes: Shapes) -> bool:
    """Whether an axis has no order, and numbers of its own were drawn for each of its elements, or keys made."""
    drawn = [one.op for one in dim.labels if one.kind == "drawn" and one.op is not None]
    alike = any(one.kind == "alike" for one in dim.labels)
    return in_order(dim.labels) is None and (alike or any(shapes.of(op.results[0]).rank == 1 for op in drawn))
