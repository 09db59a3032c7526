"""Ops that work along an axis in its order, and whether that axis has one.

The steps of a scan follow one another; the elements that were made one for each key do not. A cumulative sum or a
difference along the second kind, of an array that has an axis of the first kind too, is along the wrong one.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.labels import Label, Labels, in_no_order, in_order
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, behind, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import GRIDS, TRUTHS
from jaxaudit.ir.interfaces import Recurrence, Turn
from jaxaudit.ir.ops import JOINING, KEEPING, LOOPS, MOVING
from jaxaudit.ir.record import record

_MOVED = through_ops("array.map", *MOVING, *JOINING)
_COUNTS = ("bool", "int32", "uint32")


@record
class Along:
    """An op that works along one axis of an array in the order of that axis."""

    op: Op
    array: Value
    place: int
    dims: tuple[Dim, ...]
    ordered: int | None = None
    """Another axis of the array that has an order, where this has none."""


def directed(program: Program, flow: Flow, shapes: Shapes) -> Iterator[Along]:
    """Return every op that works along an axis of which it is known whether it has an order."""
    for op in program.named("scan", "associative_scan", "array.scan") if shapes.look is None else ():
        for array, axis in _arrays(op, flow):
            for context in shapes.contexts(op):
                found = along(op, array, axis, context.of(array).dims, flow)
                if found is not None and (found.ordered is None or _minds(found, flow, shapes)):
                    yield found


def _arrays(op: Op, flow: Flow) -> Iterator[tuple[Value, int]]:
    """Return the arrays that an op goes through, and along which axis."""
    view = Recurrence.of(op)
    if view is None:
        axis = op.arguments.get("axis", -1)
        yield from ((one, axis) for one in op.operands[:1] if op.function == "diff" and isinstance(axis, int))
    elif view.axis is not None:
        yield from ((one, view.axis) for one in view.elements)


def along(op: Op, array: Value, axis: int, dims: tuple[Dim, ...] | None, flow: Flow) -> Along | None:
    """Return how an op works along an axis of which it is known whether it has an order."""
    place = None if dims is None else place_of(axis, len(dims))
    if dims is None or place is None:
        return None
    if in_order(dims[place].labels):
        return Along(op, array, place, dims)
    rows = _in_rows(dims[place].labels, flow)
    others = (
        at
        for at, dim in enumerate(dims)
        if at != place and (_is_course_of(dim.labels, dims[place].labels) or (rows and in_order(dim.labels)))
    )
    other = next(others, None)
    return None if other is None else Along(op, array, place, dims, other)


def _in_rows(labels: Labels, flow: Flow) -> bool:
    """Whether an axis was put together of rows that do not go on in one another: those of a grid, or of members."""
    runs = (label for label in labels if label.kind == "run")
    return any(any(in_no_order(dim.labels) for dim in run.factors) or _is_grid(run, flow) for run in runs)


def _is_grid(run: Label, flow: Flow) -> bool:
    """Whether a reshape flattens a grid: axes that were counted by themselves, and not chunks of one that was."""
    counted = [dim for dim in run.factors if any(label.kind == "ordered" for label in dim.labels)]
    given = run.op.operands[:1] if run.op is not None and len(counted) > 1 else ()
    made = (flow.maker(one) for one in walk(given, lambda one: behind(flow, one, _MOVED)))
    return any(op is not None and op.function in GRIDS for op in made)


def beside_grid(op: Op, array: Value, axis: int, dims: tuple[Dim, ...] | None) -> Along | None:
    """Return how an op works along an axis in order, or along one of random numbers beside one that was counted."""
    place = None if dims is None else place_of(axis, len(dims))
    if dims is None or place is None:
        return None
    if in_order(dims[place].labels):
        return Along(op, array, place, dims)
    drawn = any(label.kind in ("drawn", "alike") for label in dims[place].labels)
    other = next((at for at, dim in enumerate(dims) if drawn and at != place and in_order(dim.labels)), None)
    return None if other is None else Along(op, array, place, dims, other)


def _is_course_of(ordered: Labels, alike: Labels) -> bool:
    """Whether a loop made one axis step by step, and the other has one element for each key, or each draw it mapped.

    What was merely counted may be a sweep beside noise that is added up.
    """
    courses = [one.op for one in ordered if one.op is not None and one.op.name in LOOPS and in_order(frozenset((one,)))]
    if not courses or in_no_order(alike):
        return bool(courses)
    drawn = any(label.kind == "drawn" for label in alike)
    maps = (label.op for label in alike if label.kind == "vmap" and label.op is not None) if drawn else ()
    return any(inner in courses for op in maps for inner in op.regions[0].walk())


def _minds(found: Along, flow: Flow, shapes: Shapes) -> bool:
    """Whether an op means something only along an axis that has an order.

    A scan may take one episode after the other; a sum up to each element may count, be a distribution, or a mean of
    more and more of them.
    """
    view = Recurrence.of(found.op)
    if view is None:
        return True
    if view.reverse or Turn.of(flow.maker(found.array)) is not None:
        return True
    if found.op.name != "array.scan" or shapes.of(found.array).dtype in _COUNTS:
        return False
    onward = walk(view.stacked, lambda one: ahead(flow, one, through_ops("array.map", "array.join", *KEEPING)))
    return not any(_places(reader, found, shapes) for one in onward for reader in flow.readers.get(one, ()))


def _places(reader: Op, found: Along, shapes: Shapes) -> bool:
    """Whether an op takes a sum up to each element for a place, or gives the elements an order by itself."""
    if reader.function in TRUTHS or reader.name in ("array.order", "array.gather"):
        return True
    made = shapes.of(reader.results[0]).dims if reader.name == "array.map" and reader.results else None
    return made is not None and len(made) == len(found.dims) and in_order(made[found.place].labels) is not None
