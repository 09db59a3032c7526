"""What is said of weighted means that are written out as two sums, and of products of unit vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.axes.normalised import behind_guards, plain, same_values, total_behind
from jaxaudit.analyses.axes.slots import Slot, onward, origins, placed, rank_in, slot
from jaxaudit.analyses.dims import same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.literals import axes_in
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import AVERAGES, NORMALISED_EXPONENTIALS, PICKED_POSITIONS, ROOTS, SCALINGS, SQUARES
from jaxaudit.ir.interfaces import moved
from jaxaudit.ir.ops import ELEMENTWISE, KEEPING, MOVING, REDUCING
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Obligation, Severity, Step, proved, unknown

_Places = frozenset[int]

_RANKED = NORMALISED_EXPONENTIALS | PICKED_POSITIONS | {"logsumexp", "top_k"}
"""What is done with similarities: the largest of each row are searched."""
_HANDED_ON = through_ops(*ELEMENTWISE, *KEEPING)


def judged_means(facts: Facts) -> Iterator[Obligation]:
    """Say of every weighted mean whether its two sums run over the same axes."""
    for one in _written_means(facts):
        if one.agrees:
            yield proved(one.count.span, "the weights are counted over the axes that they are summed over")
        elif one.is_nested and not _is_averaged(facts, one):
            yield unknown(one.count.span, "whether a share of the whole or a mean is meant is not known")
        else:
            yield _apart(one)


def _is_averaged(facts: Facts, one: _WrittenMean) -> bool:
    """Whether the mean of what comes out is taken, though it was divided by the whole."""
    values = walk(one.op.results, lambda value: ahead(facts.flow, value, _HANDED_ON))
    readers = {op.function for value in values for op in facts.flow.readers.get(value, ())}
    return one.summed is not None and bool(readers & AVERAGES)


def _apart(one: _WrittenMean) -> Obligation:
    first, second = (_words(axes) for axes in (one.summed, one.counted))
    doubtful = one.is_nested or one.is_square
    return Obligation(
        one.count.span,
        severity=Severity.WARNING if doubtful else Severity.ERROR,
        message=f"weights are summed over {first}, and divided by their sum over {second}",
        current="what is divided by is not how much weight the sum has",
        expected="both sums of a weighted mean run over the same axes",
        steps=(Step(one.top.span, f"summed over {first} here"), Step(one.op.span, "divided here")),
        suggestion=f"count the weights over {first}",
    )


def _words(axes: frozenset[int] | None) -> str:
    return "all axes" if axes is None else f"axis {', '.join(map(str, sorted(axes)))}" if axes else "no axis"


def judged_units(facts: Facts) -> Iterator[Obligation]:
    """Say of every product of unit vectors whether it sums over the axis along which they have the length one."""
    for one in _compared_units(facts):
        if one.is_summed:
            yield proved(one.op.span, "the vectors have the length one along the axis that their product sums over")
        else:
            yield _no_angle(one)
    yield from (_one_length(*one) for one in _lengths_of_all(facts))


def _one_length(op: Op, product: Op) -> Obligation:
    return Obligation(
        op.span,
        message="all vectors are divided by one length, that of the whole array, and are then compared one by one",
        current="the product is no cosine: its size depends on how long each vector is, and on all others",
        expected="each vector is divided by its own length",
        steps=(Step(product.span, "the product sums over one axis here, so each vector is compared by itself"),),
        suggestion="take the norm over the axis of the components: `axis=-1, keepdims=True`",
    )


def _lengths_of_all(facts: Facts) -> Iterator[tuple[Op, Op]]:
    """Return the arrays divided by one length that are multiplied with others of that kind, vector by vector."""
    shapes, moved_on = facts.get(Shapes), through_ops(*KEEPING)
    divided = [op for op in facts.program.named("array.map") if _is_of_whole(facts, op)]
    places = {one: op for op in divided for one in walk(op.results, lambda value: ahead(facts.flow, value, moved_on))}
    for product in facts.program.named("array.dot", "array.map") if places else ():
        if len(product.operands) == 2 and all(value in places for value in product.operands):
            if product.name == "array.dot":
                each = (shapes.of(product.result).rank or 0) > 0 and _is_ranked(facts, product)
            else:
                each = product.function == "multiply" and _is_summed_by_row(facts, product)
            yield from ((places[value], product) for value in dict.fromkeys(product.operands) if each)


def _is_of_whole(facts: Facts, op: Op) -> bool:
    """Whether an op divides an array of several axes by the length of all of it."""
    top, bottom = op.argument("x"), op.argument("y")
    if op.function not in SCALINGS or not isinstance(top, Value) or not isinstance(bottom, Value):
        return False
    norm, array = _norm(bottom, facts.flow, inverse=op.function == "multiply")
    is_whole = norm is not None and array is not None and norm.argument("axis") is None
    many = (facts.get(Shapes).of(top).rank or 0) > 1
    return is_whole and many and array is not None and same_values(array, top, facts.flow)


def _is_summed_by_row(facts: Facts, product: Op) -> bool:
    """Whether a product is summed over some axes and has others left."""
    sums = (op for op in facts.flow.readers.get(product.result, ()) if op.name == "array.reduce")
    return any(op.function == "sum" and (facts.get(Shapes).of(op.result).rank or 0) > 0 for op in sums)


def _no_angle(one: _Compared) -> Obligation:
    return Obligation(
        one.op.span,
        message=f"vectors get the length one along axis {one.axis}, but their product sums over another",
        current="the product is no cosine: its size depends on how long the vectors are",
        expected="the vectors that are compared have the length one along the axis of their components",
        steps=(Step(one.product.span, f"the product sums over another axis here, and axis {one.axis} stays"),),
        suggestion="take the norm over the axis of the components, mostly `axis=-1`",
    )


@record
class _Compared:
    """A product of two arrays of unit vectors."""

    op: Op
    """What gives the vectors of one of them their length."""
    axis: int
    """The axis along which they have it."""
    product: Op
    is_summed: bool
    """Whether the product sums over that axis."""


def _compared_units(facts: Facts) -> Iterator[_Compared]:
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
                yield _Compared(op, _axis(op, facts), product, here not in kept)


def _axis(op: Op, facts: Facts) -> int:
    found = _unit(facts, op)
    return found.place if found is not None and found.place is not None else -1


def _next(facts: Facts, one: Slot) -> Iterator[Slot]:
    """Return the axis where vectors are handed on, or all of them are scaled by one number."""
    found = onward(facts, one)
    return (made for op, made in found if op is None or op.name in MOVING or _scales(facts, op, one.value))


def _scales(facts: Facts, op: Op, vectors: Value) -> bool:
    shapes, others = facts.get(Shapes), [value for value in op.operands if value is not vectors]
    scales = op.function == "multiply" or (op.function == "divide" and op.argument("x") is vectors)
    return scales and all(shapes.of(value).dims == () for value in others)


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
    if squares is None or squares.function not in SQUARES or len({*squares.operands}) != 1:
        return None, None
    return total, squares.operands[0]


def _is_ranked(facts: Facts, product: Op) -> bool:
    """Whether what comes out is a score among others: the largest one counts."""
    values = walk((plain(product.result, facts.flow),), lambda value: ahead(facts.flow, value, _HANDED_ON))
    readers = [op for value in values for op in facts.flow.readers.get(value, ())]
    return any(op.function in _RANKED or op.loss for op in readers)


@record
class _WrittenMean:
    """A division of one sum by another, where the weights of the first are what the second adds up."""

    op: Op
    top: Op
    count: Op
    summed: _Places | None
    """The axes of the weights that are summed over in the numerator; None for all of them."""
    counted: _Places | None
    """Those that are summed over in the denominator."""
    is_square: bool
    """Whether two axes of the weights are one and the same size, so that they may be two sides of one thing."""

    @property
    def agrees(self) -> bool:
        """Whether both sums run over the same axes."""
        return self.summed == self.counted

    @property
    def is_nested(self) -> bool:
        """Whether one of the sums runs over all axes of the other one, and over more."""
        if self.summed is None or self.counted is None:
            return True
        return self.summed <= self.counted or self.counted <= self.summed


def _written_means(facts: Facts) -> Iterator[_WrittenMean]:
    """Return every weighted mean that is written out."""
    flow = facts.flow
    for op in facts.program.named("array.map"):
        top, bottom = op.argument("x"), op.argument("y")
        if op.function != "divide" or not isinstance(top, Value) or not isinstance(bottom, Value):
            continue
        count, total = total_behind(bottom, flow), flow.maker(plain(top, flow))
        if count is None or total is None or count.function != "sum" or not count.operands:
            continue
        weights = plain(count.operands[0], flow)
        for factor in _factors(total, facts):
            if weights in walk((factor,), lambda one: _views(one, facts)):
                found = _mean(facts, op, total, count, weights)
                if found is not None:
                    yield found
                break


def _factors(total: Op, facts: Facts) -> Sequence[Value]:
    """Return what is multiplied before it is summed; nothing where it is no product."""
    if total.name == "array.dot" and len(total.operands) == 2:
        return total.operands
    summed = total.name == "array.reduce" and total.function == "sum" and total.operands
    product = facts.flow.maker(plain(total.operands[0], facts.flow)) if summed else None
    is_product = product is not None and product.name == "array.map" and product.function == "multiply"
    return product.operands if product is not None and is_product and len(product.operands) == 2 else ()


def _views(value: Value, facts: Facts) -> Sequence[Value]:
    given = moved(facts.flow.maker(value)) or facts.flow.passed(value)
    return () if given is None else (given,)


def _mean(facts: Facts, op: Op, total: Op, count: Op, weights: Value) -> _WrittenMean | None:
    dims = facts.get(Shapes).of(weights).dims
    if dims is not None:
        known = [facts.memo(origins, count)[0], facts.memo(origins, total)[0]]
        if None in known:
            return None
        reached = [_left(facts, weights, place, total.result) for place in range(len(dims))]
        counted = [_left(facts, weights, place, count.result) for place in range(len(dims))]
        summed, over = (frozenset(at for at, one in enumerate(kept) if not one) for kept in (reached, counted))
        square = any(same(one, other) for at, one in enumerate(dims) for other in dims[:at])
        return _WrittenMean(op, total, count, summed, over, square)
    return _unranked(facts, op, total, count, weights) if _is_direct(facts, total, weights) else None


def _unranked(facts: Facts, op: Op, total: Op, count: Op, weights: Value) -> _WrittenMean | None:
    """Compare the axes as they are written, where the letters of an `einsum` or their signs allow it."""
    over = _written(count)
    rank = rank_in(total, weights, facts.get(Shapes))
    if rank is not None and over is not None:
        kept = {slot for axis in facts.memo(origins, total)[0] or () for slot in axis}
        summed = frozenset(place for place in range(rank) if Slot(weights, place) not in kept)
        places = {place_of(axis, rank) for axis in over} if over else {*range(rank)}
        return _WrittenMean(op, total, count, summed, frozenset(at for at in places if at is not None), False)
    axes = _written(total) if total.name == "array.reduce" else None
    if axes is None or over is None or len({axis < 0 for axis in axes | over}) > 1:
        # Of unknown rank, 1 and -1 may be the same axis.
        return None
    return _WrittenMean(op, total, count, axes or None, over or None, False)


def _written(op: Op) -> _Places | None:
    """Return the axes that a reduction names, nothing for all of them; None where they are computed."""
    given = op.argument("axis")
    axes = () if given is None else axes_in(given)
    return None if axes is None else frozenset(axes)


def _is_direct(facts: Facts, total: Op, weights: Value) -> bool:
    """Whether the weights are multiplied as they are, without new axes."""
    return any(plain(one, facts.flow) is weights for one in _factors(total, facts))


def _left(facts: Facts, weights: Value, place: int, result: Value) -> bool:
    """Whether an axis of the weights is one of a sum."""
    ways = walk((Slot(weights, place),), lambda one: (made for _, made in onward(facts, one)))
    return any(one.value is result for one in ways)
