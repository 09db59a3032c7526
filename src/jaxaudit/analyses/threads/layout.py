"""Axes through ops that arrange, reduce and join arrays, each element going its own way."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.threads.relation import Relation, Seen, Shape, Slot, in_order, near, same_shape
from jaxaudit.ir import Value
from jaxaudit.ir.values import index_parts


def elementwise(relation: Relation, seen: Seen) -> None:
    """Line axes up from the back, as broadcasting does."""
    for result in seen.op.results:
        shape = seen.shape(result)
        for value in seen.arrays():
            own = seen.shape(value)
            if own == shape:
                relation.same.append((value, result))
                continue
            for back in range(1, min(len(own), len(shape)) + 1):
                if own[-back] == shape[-back]:
                    relation.link(value, len(own) - back, result, len(shape) - back)


def reduce(relation: Relation, seen: Seen) -> None:
    """Keep the axes that are not reduced."""
    axes = seen.axes()
    for value, result in zip(seen.arrays(), seen.op.results, strict=False):
        in_order(relation, seen, value, result, axes)
    for value in seen.arrays():
        for axis in axes:
            relation.deed("reduced", value, axis)


def reshape(relation: Relation, seen: Seen) -> None:
    """Pair runs of axes with equal numbers of elements."""
    value, (result, *_) = seen.given("a"), seen.op.results
    if value is None:
        return
    for old, new in _groups(seen.shape(value), seen.shape(result)):
        if len(old) == 1 and len(new) == 1:
            relation.link(value, old[0], result, new[0])
        elif len(new) == 1:
            relation.merges.append((tuple(Slot(value, axis) for axis in old), Slot(result, new[0])))
        elif len(old) == 1:
            relation.splits.append((Slot(value, old[0]), tuple(Slot(result, axis) for axis in new)))
        else:
            for axis in old:
                relation.deed("reshaped", value, axis)


def _groups(old: Shape, new: Shape) -> Iterator[tuple[list[int], list[int]]]:
    """Return the shortest runs of axes, those of size one aside, that have equal numbers of elements."""
    left = [axis for axis, size in enumerate(old) if size != 1]
    right = [axis for axis, size in enumerate(new) if size != 1]
    while left and right:
        first, second = [left.pop(0)], [right.pop(0)]
        before, after = old[first[0]], new[second[0]]
        while before != after:
            if before < after and left:
                first.append(left.pop(0))
                before *= old[first[-1]]
            elif after < before and right:
                second.append(right.pop(0))
                after *= new[second[-1]]
            else:
                return
        yield first, second


def permute(relation: Relation, seen: Seen) -> None:
    """Move axes to their new places."""
    value, (result, *_) = seen.given("a"), seen.op.results
    if value is not None:
        for place, axis in enumerate(seen.axes("axes")):
            relation.link(value, axis, result, place)


def expand(relation: Relation, seen: Seen) -> None:
    """Keep the axes that are there, and let the others come in by copies."""
    value, (result, *_) = seen.given("a", "A"), seen.op.results
    shape, kept = seen.shape(result), seen.axes("broadcast_dimensions")
    own = seen.shape(value)
    here: set[int] = set()
    for axis, place in enumerate(kept):
        if value is not None and axis < len(own) and own[axis] == shape[place]:
            relation.link(value, axis, result, place)
            here.add(place)
    for place, size in enumerate(shape):
        if place not in here and size != 1:
            relation.deed("broadcast" if own else "made", result, place)


def squeeze(relation: Relation, seen: Seen) -> None:
    """Drop axes of size one."""
    value = seen.given("a")
    if value is not None:
        in_order(relation, seen, value, seen.op.results[0], seen.axes())


def join(relation: Relation, seen: Seen) -> None:
    """Keep all axes but the one along which arrays are put together."""
    result = seen.op.results[0]
    rank = len(seen.shape(result))
    (along, *_) = (*seen.axes(), 0)
    stacks = seen.op.qualified.endswith("stack")
    for value in seen.arrays():
        for axis in range(len(seen.shape(value))):
            place = axis + (1 if stacks and axis >= along % max(rank, 1) else 0)
            if place < rank:
                near(relation, seen, (value, axis), (result, place))
    relation.deed("joined", result, along)


def split(relation: Relation, seen: Seen) -> None:
    """Keep all axes but the one along which an array is cut."""
    value = seen.given("ary")
    if value is None:
        return
    for result in seen.op.results:
        in_order(relation, seen, value, result, ())
    for axis in seen.axes():
        relation.deed("cut", value, axis)


def same(relation: Relation, seen: Seen) -> None:
    """Link what has the same shape, operand by operand."""
    for value in seen.arrays():
        for result in seen.op.results:
            same_shape(relation, seen, value, result)


def moved(relation: Relation, seen: Seen) -> None:
    """Keep all axes of something that is flipped or padded, also where they get a little longer."""
    value = seen.given("a", "array")
    if value is not None:
        in_order(relation, seen, value, seen.op.results[0], ())


def order(relation: Relation, seen: Seen) -> None:
    """Sorting keeps axes; the place of the largest element takes one away."""
    axes = seen.axes()
    for value in seen.arrays():
        rank = len(seen.shape(value))
        for result in seen.op.results:
            if len(seen.shape(result)) == rank:
                in_order(relation, seen, value, result, ())
            else:
                in_order(relation, seen, value, result, axes)
        if seen.op.qualified in ("argmax", "argmin"):
            for axis in axes:
                relation.deed("reduced", value, axis)


def item(relation: Relation, seen: Seen) -> None:
    """Read `base[index]`: numbers take an axis away, slices keep it."""
    base = seen.given("base")
    if base is None or len(seen.op.results) != 1:
        return
    parts = index_parts(seen.op.arguments.get("index"))
    dropped = [axis for axis, part in enumerate(parts) if not isinstance(part, dict)]
    in_order(relation, seen, base, seen.op.results[0], dropped)
    for axis in dropped:
        relation.deed("indexed", base, axis)


def unpack(relation: Relation, seen: Seen) -> None:
    """Take an array apart along its first axis."""
    base = seen.given("base")
    if base is None:
        return
    for result in seen.op.results:
        in_order(relation, seen, base, result, (0,))
    relation.deed("indexed", base, 0)


def made(relation: Relation, seen: Seen) -> None:
    """Let the axes of a new array come in."""
    for result in seen.op.results:
        for axis, size in enumerate(seen.shape(result)):
            if size != 1:
                relation.deed("made", result, axis)


def keyed(relation: Relation, seen: Seen) -> None:
    """Draw or split with keys: axes of the keys stay in front, and those of other operands where they fit."""
    key = seen.given("key")
    for result in seen.op.results:
        shape = seen.shape(result)
        told: set[int] = set()
        others = seen.op.arguments.get("operands")
        for value in (key, seen.given("data"), *(others if isinstance(others, tuple) else ())):
            own = seen.shape(value)
            if isinstance(value, Value) and own:
                fitting = len(own) if own == shape[: len(own)] else len(shape) if shape == own[: len(shape)] else 0
                for axis in range(fitting):
                    relation.link(value, axis, result, axis)
                    told.add(axis)
        for axis in (axis for axis, size in enumerate(shape) if axis not in told and size != 1):
            relation.deed("made", result, axis)
