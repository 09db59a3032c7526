"""Axes through products, convolutions, gathers and scatters."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.threads.relation import Relation, Seen, near, numbers, same_shape
from jaxaudit.ir import Argument, Value


def dot(relation: Relation, seen: Seen) -> None:
    """Contracted axes meet and go; those of the batch meet and stay, before the free ones of both sides."""
    left, right, pairs = seen.given("x"), seen.given("y"), seen.op.arguments.get("dimension_numbers")
    if left is None or right is None or not isinstance(pairs, tuple) or len(pairs) != 2:
        return
    (contracted, batched), result = pairs, seen.op.results[0]
    inner = _pairs(contracted)
    shared = _pairs(batched)
    for one, other in inner:
        relation.link(left, one, right, other)
        relation.deed("projected", left, one)
    place = 0
    for one, other in shared:
        relation.link(left, one, result, place)
        relation.link(right, other, result, place)
        place += 1
    for value, used in ((left, {one for one, _ in (*inner, *shared)}), (right, {two for _, two in (*inner, *shared)})):
        for axis in range(len(seen.shape(value))):
            if axis not in used:
                relation.link(value, axis, result, place)
                place += 1


def _pairs(given: Argument) -> list[tuple[int, int]]:
    if not isinstance(given, tuple) or len(given) != 2:
        return []
    return list(zip(numbers(given[0]), numbers(given[1]), strict=False))


def convolve(relation: Relation, seen: Seen) -> None:
    """Batch and places stay, input channels are summed over, output channels come from the kernel."""
    left, right, specs = seen.given("lhs"), seen.given("rhs"), seen.op.arguments.get("dimension_numbers")
    result = seen.op.results[0]
    if left is None or right is None or not isinstance(specs, Mapping):
        _window(relation, seen)
        return
    lhs, rhs, out = (numbers(specs.get(name)) for name in ("lhs_spec", "rhs_spec", "out_spec"))
    relation.link(left, lhs[0], result, out[0])
    relation.link(right, rhs[0], result, out[1])
    if seen.shape(left)[lhs[1]] == seen.shape(right)[rhs[1]]:
        relation.link(left, lhs[1], right, rhs[1])
    relation.deed("projected", left, lhs[1])
    for before, after in zip(lhs[2:], out[2:], strict=False):
        near(relation, seen, (left, before), (result, after))


def _window(relation: Relation, seen: Seen) -> None:
    """A window that moves over an array keeps the number of its axes."""
    value, (result, *_) = seen.given("a"), seen.op.results
    if value is not None and len(seen.shape(value)) == len(seen.shape(result)):
        for axis in range(len(seen.shape(value))):
            near(relation, seen, (value, axis), (result, axis))


def gather(relation: Relation, seen: Seen) -> None:
    """Axes of the indices come out, and those axes of the array that are taken whole."""
    base, result, how = seen.given("a"), seen.op.results[0], seen.op.arguments.get("dimension_numbers")
    if base is None:
        return
    if not isinstance(how, Mapping):
        _dynamic_slice(relation, seen, base, result)
        return
    indices = seen.given("indices")
    offset = numbers(how.get("offset_dims"))
    gone = {*numbers(how.get("collapsed_slice_dims")), *numbers(how.get("operand_batching_dims"))}
    kept = [axis for axis in range(len(seen.shape(base))) if axis not in gone]
    sizes = seen.axes("slice_sizes")
    for axis, place in zip(kept, offset, strict=False):
        if axis < len(sizes) and sizes[axis] == seen.shape(base)[axis]:
            relation.link(base, axis, result, place)
    batch = [place for place in range(len(seen.shape(result))) if place not in offset]
    for axis, place in enumerate(batch):
        if indices is not None and axis < len(seen.shape(indices)) - 1:
            relation.link(indices, axis, result, place)
    for axis in numbers(how.get("collapsed_slice_dims")):
        relation.deed("indexed", base, axis)
    _batched(relation, base, indices, how)


def _batched(relation: Relation, base: Value, indices: Value | None, how: Mapping[str, Argument]) -> None:
    """Axes that array and indices have in common go side by side."""
    names = ("operand_batching_dims", "start_indices_batching_dims")
    before, other = (numbers(how.get(name)) for name in names)
    if indices is not None:
        for axis, at in zip(before, other, strict=False):
            relation.link(base, axis, indices, at)


def _dynamic_slice(relation: Relation, seen: Seen, base: Value, result: Value) -> None:
    if len(seen.shape(base)) == len(seen.shape(result)):
        for axis in range(len(seen.shape(base))):
            near(relation, seen, (base, axis), (result, axis))


def scatter(relation: Relation, seen: Seen) -> None:
    """An array that is written to by index keeps its axes."""
    base = seen.given("base")
    if base is not None:
        same_shape(relation, seen, base, seen.op.results[0])
