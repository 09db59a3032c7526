"""Weighted means that are written out: a sum of weights times values, divided by the sum of the weights.

Both sums have to run over the same axes of the weights. With a mask over steps, the sum of losses over the steps of
each sequence belongs to the number of steps of that sequence, and not to how many sequences have a step there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.axes.normalised import plain, total_behind
from jaxaudit.analyses.axes.slots import Slot, onward, origins, rank_in
from jaxaudit.analyses.dims import same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.literals import axes_in
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import moved
from jaxaudit.ir.record import record

Places = frozenset[int]


@record
class WrittenMean:
    """A division of one sum by another, where the weights of the first are what the second adds up."""

    op: Op
    top: Op
    count: Op
    summed: Places | None
    """The axes of the weights that are summed over in the numerator; None for all of them."""
    counted: Places | None
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


def written_means(facts: Facts) -> Iterator[WrittenMean]:
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


def _mean(facts: Facts, op: Op, total: Op, count: Op, weights: Value) -> WrittenMean | None:
    dims = facts.get(Shapes).of(weights).dims
    if dims is not None:
        known = [facts.memo(origins, count)[0], facts.memo(origins, total)[0]]
        if None in known:
            return None
        reached = [_left(facts, weights, place, total.result) for place in range(len(dims))]
        counted = [_left(facts, weights, place, count.result) for place in range(len(dims))]
        summed, over = (frozenset(at for at, one in enumerate(kept) if not one) for kept in (reached, counted))
        square = any(same(one, other) for at, one in enumerate(dims) for other in dims[:at])
        return WrittenMean(op, total, count, summed, over, square)
    return _unranked(facts, op, total, count, weights) if _is_direct(facts, total, weights) else None


def _unranked(facts: Facts, op: Op, total: Op, count: Op, weights: Value) -> WrittenMean | None:
    """Compare the axes as they are written, where the letters of an `einsum` or their signs allow it."""
    over = _written(count)
    rank = rank_in(total, weights, facts.get(Shapes))
    if rank is not None and over is not None:
        kept = {slot for axis in facts.memo(origins, total)[0] or () for slot in axis}
        summed = frozenset(place for place in range(rank) if Slot(weights, place) not in kept)
        places = {place_of(axis, rank) for axis in over} if over else {*range(rank)}
        return WrittenMean(op, total, count, summed, frozenset(at for at in places if at is not None), False)
    axes = _written(total) if total.name == "array.reduce" else None
    if axes is None or over is None or len({axis < 0 for axis in axes | over}) > 1:
        # Of unknown rank, 1 and -1 may be the same axis.
        return None
    return WrittenMean(op, total, count, axes or None, over or None, False)


def _written(op: Op) -> Places | None:
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
