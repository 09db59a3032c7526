"""Weights: arrays that are normalised along an axis, and the axes they are then summed over.

A weighted sum is one where the weights are multiplied with values and the product is summed. The weights add up to one
along the axis they are normalised over, so it is this axis that the sum has to run over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.dims import ONE, UNKNOWN
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, holders, nothing, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import Dims
from jaxaudit.analyses.shapes.literals import axes_in
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import leaves_as, moved
from jaxaudit.ir.ops import BODIES, PASSED_ON
from jaxaudit.ir.record import record
from jaxaudit.ir.types import REST
from jaxaudit.ir.values import index_parts, is_whole


@record
class WeightedSum:
    """Weights as they are summed over: which axis adds up to one, and what the sum does with it."""

    normalise: Op
    total: Op
    role: str
    """`summed`: the sum runs over it; `aligned`: both operands have it and it stays; `own`: only the weights do."""
    axis: int
    """The axis of the weights that adds up to one."""
    summed: int
    """The axis of the weights that is summed over."""


@record
class _Place:
    """Where the axis that adds up to one stands in a value made of the weights."""

    value: Value
    axis: int
    dims: Dims


def weighted_sums(op: Op, flow: Flow, shapes: Shapes) -> Iterator[WeightedSum]:
    """Return the sums that the result of a normalisation is the weights of."""
    axes = _normalised(op, flow)
    if axes is None or len(axes) != 1:
        return
    dims = shapes.of(op.result).dims or _written_out(op.result, flow)
    if dims is None:
        return
    place = place_of(axes[0], len(dims))
    if place is None:
        return
    for start in _views(_Place(op.result, place, dims), flow, shapes):
        for reader in flow.readers.get(start.value, ()):
            for role, axis, summed in _sums(reader, start, flow, shapes):
                shift = len(start.dims) - len(dims) if len(start.dims) > len(dims) and axis < place else 0
                yield WeightedSum(op, reader, role, place, summed - shift)


def is_self_attention(one: WeightedSum, flow: Flow) -> bool:
    """Whether the scores compare the parts of one thing with each other, and the weights mix parts of it.

    Then each part has to get shares of all others. Tokens that are shared out among experts, or points among
    clusters, are compared with something else; what is shared out so is mostly divided by what each one got.
    """
    weights = one.normalise.result
    counted = any(
        reader.function == "sum" and one.summed in (axes_in(reader.arguments.get("axis")) or ())
        for reader in flow.readers.get(weights, ())
    )
    compared = next((op for op in _compared(one.normalise, flow)), None)
    mixed = [value for value in one.total.operands if value is not weights]
    if counted or compared is None or len(compared.operands) != 2 or len(mixed) != 1:
        return False
    origins = [_origins(value, flow) for value in (*compared.operands, *mixed)]
    return bool(set.intersection(*origins))


def _compared(normalise: Op, flow: Flow) -> Iterator[Op]:
    """Return the products that scores come from, through scales, biases and masks."""

    def before(value: Value) -> Sequence[Value]:
        op = flow.maker(value)
        changes = op is not None and (op.name in PASSED_ON or op.name in ("array.map", "array.select"))
        return op.operands if op is not None and changes else behind(flow, value, nothing)

    made = (flow.maker(value) for value in walk(normalise.operands[:1], before))
    return (op for op in made if op is not None and op.name == "array.dot")


def _origins(value: Value, flow: Flow) -> set[Value]:
    """Return what queries, keys or values are, or are projected from."""

    def before(one: Value) -> Sequence[Value]:
        given = moved(flow.maker(one))
        return (given,) if given is not None else behind(flow, one, nothing)

    found = set(walk((value,), before))
    projections = (flow.maker(one) for one in found)
    layers = [op for op in projections if op is not None and _projects(op)]
    return found.union(*(set(walk(op.operands, before)) for op in layers))


def _projects(op: Op) -> bool:
    return op.name == "array.dot" or op.qualified.endswith(".__call__")


def _normalised(op: Op, flow: Flow) -> tuple[int, ...] | None:
    """Return the axes along which an op makes weights: `softmax`, or a division by one's own sum."""
    if op.name == "array.normalise":
        return axes_in(op.arguments.get("axis", -1)) if op.function == "softmax" else None
    top, bottom = op.argument("x"), op.argument("y")
    total = flow.maker(bottom) if isinstance(bottom, Value) and op.function == "divide" else None
    if total is None or total.function != "sum" or total.arguments.get("keepdims") is not True:
        return None
    return axes_in(total.arguments.get("axis")) if total.operands[:1] == (top,) else None


def _written_out(value: Value, flow: Flow) -> Dims | None:
    """Return as many unknown axes as an `einsum` has letters for a value."""
    for reader in flow.readers.get(value, ()):
        text, given = reader.arguments.get("subscripts"), reader.arguments.get("operands")
        if isinstance(text, str) and isinstance(given, tuple) and value in given and "." not in text:
            parts = text.replace(" ", "").partition("->")[0].split(",")
            return (UNKNOWN,) * len(parts[given.index(value)]) if len(parts) == len(given) else None
    return None


def _views(start: _Place, flow: Flow, shapes: Shapes) -> Iterator[_Place]:
    """Return the weights where they are made and where functions hand them back, each also with new axes."""
    yield start
    for value in _handed_back(start.value, flow):
        yield from _views(_Place(value, start.axis, start.dims), flow, shapes)
    for op in flow.readers.get(start.value, ()):
        dims = shapes.of(op.result).dims if _keeps_order(op) else None
        if dims is None:
            continue
        # Only axes of size one come and go: all others stay in one order.
        old, new = ([at for at, one in enumerate(some) if one != ONE] for some in (start.dims, dims))
        if start.axis in old and [start.dims[at] for at in old] == [dims[at] for at in new]:
            yield from _views(_Place(op.result, new[old.index(start.axis)], dims), flow, shapes)


def _keeps_order(op: Op) -> bool:
    """Whether an op may only add or drop axes of size one, if the sizes of all others stay."""
    if op.name == "py.item":
        parts = index_parts(op.arguments.get("index"))
        return all(one is None or one == REST or is_whole(one) for one in parts)
    return len(op.results) == 1 and op.name in ("array.expand", "array.reshape", "array.squeeze", "array.convert")


def _handed_back(value: Value, flow: Flow) -> Iterator[Value]:
    """Return the results of the calls whose function gives a value away."""
    for region in flow.leaving.get(value, ()):
        calls = (call for call in holders(flow, region) if call.name in BODIES)
        yield from (made for call in calls for made in leaves_as(call, region, value))


def _sums(op: Op, start: _Place, flow: Flow, shapes: Shapes) -> Iterator[tuple[str, int, int]]:
    function = op.function
    if op.name == "array.dot" and function == "einsum":
        yield from _einsum(op, start)
    elif op.name == "array.dot" and function == "matmul":
        yield from _matmul(op, start, shapes)
    elif op.name == "array.map" and function == "multiply":
        yield from _product(op, start, flow, shapes)


def _einsum(op: Op, start: _Place) -> Iterator[tuple[str, int, int]]:
    text, given = op.arguments.get("subscripts"), op.arguments.get("operands")
    if not isinstance(text, str) or not isinstance(given, tuple) or len(given) != 2 or "->" not in text or "." in text:
        return
    inputs, _, output = text.replace(" ", "").partition("->")
    parts = inputs.split(",")
    at = 0 if given[0] is start.value else 1
    if len(parts) != 2 or len(parts[at]) != len(start.dims):
        return
    own, other = parts[at], parts[1 - at]
    letter = own[start.axis]
    summed = [place for place, one in enumerate(own) if one not in output and one in other]
    free = any(one in output and one not in own for one in other)
    yield from _role(letter not in output, letter in other, free, start.axis, summed)


def _role(
    is_summed: bool, is_aligned: bool, free: bool, axis: int, summed: list[int]
) -> Iterator[tuple[str, int, int]]:
    if is_summed:
        yield "summed", axis, axis
    elif summed and free:
        yield ("aligned" if is_aligned else "own"), axis, summed[0]


def _matmul(op: Op, start: _Place, shapes: Shapes) -> Iterator[tuple[str, int, int]]:
    first, second = op.operands if len(op.operands) == 2 else (None, None)
    other = shapes.of(second).dims if second is not None else None
    if first is not start.value or other is None or len(other) < 2:
        return
    rank = len(start.dims)
    aligned = start.axis < rank - 2 and len(other) - (rank - start.axis) >= 0
    yield from _role(start.axis == rank - 1, aligned, True, start.axis, [rank - 1])


def _product(op: Op, start: _Place, flow: Flow, shapes: Shapes) -> Iterator[tuple[str, int, int]]:
    others = [value for value in op.operands if value is not start.value]
    dims = shapes.of(others[0]).dims if len(others) == 1 else None
    made = shapes.of(op.result).dims
    if dims is None or made is None or len(made) != len(start.dims) or len(dims) != len(made):
        return
    # An axis that the weights do not have is what makes it a sum of values rather than a count of weights.
    free = any(own == ONE and other != ONE for own, other in zip(start.dims, dims, strict=True))
    for reader in flow.readers.get(op.result, ()):
        axes = axes_in(reader.arguments.get("axis"))
        if reader.name != "array.reduce" or reader.function != "sum" or axes is None:
            continue
        places = [place for axis in axes if (place := place_of(axis, len(made))) is not None]
        summed = [place for place in places if start.dims[place] != ONE]
        yield from _role(start.axis in places, dims[start.axis] != ONE, free, start.axis, summed)
