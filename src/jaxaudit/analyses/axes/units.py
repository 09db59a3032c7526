"""Arrays of unit vectors, and the products that compare them.

`x / norm(x, axis=k)` has vectors of length one along axis k. The product of two such arrays is the cosine of the angle
between each pair of vectors, if it is that axis that is summed over.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.normalised import behind_guards, plain, same_values, total_behind
from jaxaudit.analyses.axes.slots import Slot, onward, origins, placed, rank_in, slot
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.literals import axes_in
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import NORMALISED_EXPONENTIALS, PICKED_POSITIONS, ROOTS, SCALINGS
from jaxaudit.ir.ops import KEEPING, MOVING, REDUCING
from jaxaudit.ir.record import record

_RANKED = NORMALISED_EXPONENTIALS | PICKED_POSITIONS | {"logsumexp", "top_k"}
"""What is done with similarities: the largest of each row are searched."""
_SCALED = through_ops("array.map", "array.select", *KEEPING)


@record
class Compared:
    """A product of two arrays of unit vectors."""

    op: Op
    """What gives the vectors of one of them their length."""
    axis: int
    """The axis along which they have it."""
    product: Op
    is_summed: bool
    """Whether the product sums over that axis."""


def compared_units(facts: Facts) -> Iterator[Compared]:
    """Return the products of two arrays of unit vectors whose results are ranked, once for each array."""
    found = [(op, one) for op in facts.program.named("array.map") if (one := _unit(facts, op)) is not None]
    places: dict[Value, tuple[Op, Slot]] = {}
    for op, start in found:
        for one in walk((start,), lambda one: _next(facts, one)):
            places.setdefault(one.value, (op, one))
    for product in facts.program.named("array.dot"):
        axes = facts.memo(origins, product)[0] if len(product.operands) == 2 else None
        if axes is None or not all(value in places for value in product.operands) or not _is_ranked(facts, product):
            continue
        kept = {one for axis in axes for one in axis}
        for value in product.operands:
            op, one = places[value]
            here = placed(product, one, facts.get(Shapes))
            if rank_in(product, value, facts.get(Shapes)) is not None and here.place is not None and here.place >= 0:
                yield Compared(op, _axis(op, facts), product, here not in kept)


def _axis(op: Op, facts: Facts) -> int:
    found = _unit(facts, op)
    return found.place if found is not None and found.place is not None else -1


def _next(facts: Facts, one: Slot) -> Iterator[Slot]:
    return (made for op, made in onward(facts, one) if op is None or op.name in MOVING)


def _unit(facts: Facts, op: Op) -> Slot | None:
    """Return along which axis an op gives vectors the length one."""
    top, bottom = op.argument("x"), op.argument("y")
    if op.function not in SCALINGS or not isinstance(top, Value) or not isinstance(bottom, Value):
        return None
    norm, array = _norm(bottom, facts.flow, inverse=op.function == "multiply")
    axes = None if norm is None else axes_in(norm.argument("axis"))
    if array is None or axes is None or len(axes) != 1 or not same_values(array, top, facts.flow):
        return None
    return slot(op.result, axes[0], facts.get(Shapes))


def _norm(value: Value, flow: Flow, *, inverse: bool) -> tuple[Op | None, Value | None]:
    """Return what computes a length, or one over it, and of which array."""
    root = behind_guards(value, flow)
    if root is None or not root.operands:
        return None, None
    if root.name in REDUCING:
        return (root, root.operands[0]) if root.function in ROOTS and not inverse else (None, None)
    total = total_behind(root.operands[0], flow) if root.function == ("rsqrt" if inverse else "sqrt") else None
    squares = flow.maker(plain(total.operands[0], flow)) if total is not None and total.function == "sum" else None
    if squares is None or squares.function not in ("square", "power", "multiply") or len({*squares.operands}) != 1:
        return None, None
    return total, squares.operands[0]


def _is_ranked(facts: Facts, product: Op) -> bool:
    """Whether what comes out is a score among others: the largest one counts."""
    values = walk((plain(product.result, facts.flow),), lambda value: ahead(facts.flow, value, _SCALED))
    readers = [op for value in values for op in facts.flow.readers.get(value, ())]
    return any(op.function in _RANKED or op.loss for op in readers)
