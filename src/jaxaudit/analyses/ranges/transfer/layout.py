"""Ops that move, copy, pick or put elements, and products of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import inf

from jaxaudit.analyses.ranges import arithmetic
from jaxaudit.analyses.ranges.dtypes import wrapped
from jaxaudit.analyses.ranges.facts import ANY, Range, Zero, exactly, join, part, plain
from jaxaudit.analyses.ranges.look import Look, Transfer, single
from jaxaudit.analyses.ranges.transfer.maps import by_dtype
from jaxaudit.ir import Argument, Value
from jaxaudit.ir.functions import MATRIX_PRODUCTS
from jaxaudit.ir.values import index_parts, is_whole

_NOT_THIS = Zero("a one-hot vector is 0 but for one element", ordinary=True)
_PADDING = Zero("the padding is 0", ordinary=True, fixed=True, blocks=True)


def _moved(look: Look) -> Range:
    return plain(look.first())


def same(look: Look) -> Range:
    """Return a value that is passed on as it is."""
    return look.first()


def _expand(look: Look) -> Range:
    name, x = look.function, look.first()
    if name == "one_hot":
        return one_hot(look)
    if name in ("diag", "diagflat"):
        # Of a matrix `diag` takes the diagonal, of a vector it makes a matrix.
        return join(part(x), exactly(0.0))
    if name in ("broadcast_arrays", "atleast_1d", "atleast_2d", "atleast_3d"):
        return by_dtype(look) if len(look.op.results) != 1 else plain(x)
    made = plain(x)
    return made._replace(relation=x.relation._replace(aligned=True)) if x.relation and _puts_back(look, x) else made


def _puts_back(look: Look, x: Range) -> bool:
    """Whether new axes stand where a reduction took them away, so that elements meet their own again."""
    relation = x.relation
    if relation is None:
        return False
    if relation.aligned and relation.axes is None:
        return True
    sizes = look.known.sizes(relation.other)
    if sizes is None or relation.axes is None or relation.aligned:
        return False
    missing = {axis % len(sizes) for axis in relation.axes}
    kept = look.raw("broadcast_dimensions")
    shape = look.raw("shape")
    if isinstance(kept, tuple) and isinstance(shape, tuple) and len(shape) == len(sizes):
        return set(range(len(sizes))) - set(kept) == missing
    axis = look.raw("axis", "dimensions")
    axes = (axis,) if isinstance(axis, int) else axis
    if look.function == "expand_dims" and isinstance(axes, tuple):
        return {one % len(sizes) for one in axes if isinstance(one, int)} == missing
    return False


def one_hot(look: Look) -> Range:
    """Return a one-hot vector; it sums to one where the index is surely one of the classes."""
    axis = look.raw("axis") if look.has("axis") else -1
    place = axis if isinstance(axis, int) and axis < 0 else None
    index, classes = look.range("x"), look.range("num_classes")
    inside = index.integer and index.low >= 0 and index.high < classes.low
    sums = place if inside else None
    return Range(0.0, 1.0, integer=True, zero=_NOT_THIS, one_hot=place, sums_to_one=sums)


def _item(look: Look) -> Range:
    base, index = look.raw("base"), look.raw("index")
    number = look.known.number(look.op.results[0]) if look.op.results else None
    if number is not None:
        return exactly(float(number))
    maker = look.maker(base)
    if maker is not None and maker.name == "array.shape":
        # An ordinary array has elements.
        return Range(1.0, inf, integer=True)
    if maker is not None and maker.name == "array.scatter" and maker.function == "set" and not _takes_all(index):
        if maker.arguments.get("index") == index:
            # What was just put there.
            return plain(look.of(maker.arguments.get("value")))
    x = look.of(base)
    made = plain(x) if _takes_all(index) else part(x)
    if x.relation is not None and _index_puts_back(look, x, index):
        return made._replace(relation=x.relation._replace(aligned=True))
    return made


def _takes_all(index: Argument) -> bool:
    return all(one is None or _is_whole(one) for one in index_parts(index))


def _index_puts_back(look: Look, x: Range, index: Argument) -> bool:
    """Whether `m[..., None]` puts the axes back that a reduction took away."""
    relation = x.relation
    if relation is None or relation.axes is None or relation.aligned:
        return False
    sizes = look.known.sizes(relation.other)
    if sizes is None or not isinstance(index, tuple) or not all(one is None or _is_whole(one) for one in index):
        return False
    if "..." in index:
        split = index.index("...")
        tail = index[split + 1 :]
        made = {i - len(tail) for i, one in enumerate(tail) if one is None}
        return not any(one is None for one in index[:split]) and made == set(relation.axes)
    return {i - len(sizes) for i, one in enumerate(index) if one is None} == set(relation.axes)


def _is_whole(part: Argument) -> bool:
    return part == "..." or is_whole(part)


def _joined(look: Look) -> Range:
    arrays = [one for one in look.given() if not isinstance(one, bool | int | float | str | None)]
    return plain(look.of(tuple(arrays))) if arrays else by_dtype(look)


def _move(look: Look) -> Range:
    name, x = look.function, plain(look.first())
    if name == "pad":
        return _padded(look, x)
    return x


def _padded(look: Look, x: Range) -> Range:
    value = look.raw("constant_values", "padding_value")
    if look.raw("mode") not in (None, "constant"):
        return by_dtype(look) if look.raw("mode") in ("linear_ramp", "empty") or callable(look.raw("mode")) else x
    filled = exactly(0.0) if value is None else plain(look.of(value))
    made = join(x, filled)
    return made._replace(zero=_PADDING) if filled.constant == 0 else made


def _gather(look: Look) -> Range:
    name = look.function
    if name in ("ravel_multi_index", "unravel_index"):
        return Range(0.0, inf, integer=True)
    if name == "map_coordinates":
        return by_dtype(look)
    if name == "compress":
        return plain(look.range("a"))
    if name == "extract":
        return plain(look.range("arr"))
    made = part(look.first())
    filled = look.raw("fill_value")
    return made if filled is None else join(made, look.of(filled))


Update = Callable[[Range, Range], Range]


def _each(names: str, function: Update) -> dict[str, Update]:
    return dict.fromkeys(names.split(), function)


_UPDATES: Mapping[str, Update] = {
    **_each("add scatter_add", lambda base, value: arithmetic.add(base, _some(value))),
    **_each("subtract scatter_sub", lambda base, value: arithmetic.subtract(base, _some(value))),
    **_each("max scatter_max", lambda base, value: join(base, arithmetic.maximum(base, value))),
    **_each("min scatter_min", lambda base, value: join(base, arithmetic.minimum(base, value))),
    **_each(
        "set scatter dynamic_update_slice dynamic_update_slice_in_dim dynamic_update_index_in_dim fill_diagonal "
        "place put put_along_axis",
        join,
    ),
}


def _some(value: Range) -> Range:
    """Return the sum of any number of updates at one place, none included."""
    made = arithmetic.scaled(value, Range(0.0, inf, integer=True))
    return made._replace(zero=None, counts=value.constant == 1 or value.is_mask)


def _scatter(look: Look) -> Range:
    known = _UPDATES.get(look.function)
    if known is None:
        return by_dtype(look)
    base = plain(look.range("base", "operand", "a", "arr"))
    value = plain(look.range("value", "update", "updates", "val", "vals", "v", "values"))
    if known is join and base.zero is not None:
        # What is put somewhere is no longer what the array began with: that holds for the other places.
        base = base._replace(zero=base.zero._replace(fixed=True))
    made = known(base, value)
    counts = base.constant == 0 and (value.constant == 1 or value.is_mask) and look.function in ("add", "scatter_add")
    if counts:
        return made._replace(counts=True, zero=Zero("nothing may be counted at a place", ordinary=False, noted=True))
    return wrapped(made, look.out_dtype)


def _dot(look: Look) -> Range:
    """Products of two arrays that are summed: their signs tell the sign, weights that sum to one an average."""
    given = _multiplied(look)
    if len(given) != 2 or look.function in ("cross", "dot_product_attention", "scaled_dot", "ragged_dot"):
        return by_dtype(look)
    x, y = look.of(given[0]), look.of(given[1])
    if _averages(look, x):
        return Range(y.low, y.high, False, y.finite, x.nan or y.nan or not y.finite)
    each = arithmetic.multiply(x, y)
    made = arithmetic.scaled(each, Range(0.0, inf, integer=True))
    same_value = given[0] is given[1] and (look.sizes(given[0]) or (0, 0))[1:] == () and look.function != "outer"
    low = 0.0 if same_value else made.low
    return Range(low, made.high, made.integer, made.finite, made.nan, unit=x.unit and y.unit)


def _multiplied(look: Look) -> list[Value]:
    found = look.op.operands if look.function == "einsum" else look.given()
    return [one for one in found if isinstance(one, Value)]


def _averages(look: Look, x: Range) -> bool:
    """Whether the axis that is summed over is the one along which the first operand sums to one."""
    if x.sums_to_one is None:
        return False
    written = look.raw("subscripts")
    if isinstance(written, str):
        terms, _, out = written.replace(" ", "").partition("->")
        first = terms.partition(",")[0]
        gone = [letter for letter in first if letter.isalpha() and letter not in out]
        return len(gone) == 1 and first.endswith(gone[0]) and x.sums_to_one == -1 and bool(out)
    numbers = look.raw("dimension_numbers")
    sizes = look.sizes(look.leading())
    if isinstance(numbers, tuple) and sizes is not None and isinstance(numbers[0], tuple):
        contracted = numbers[0][0]
        return isinstance(contracted, tuple) and [one - len(sizes) for one in contracted if isinstance(one, int)] == [
            x.sums_to_one
        ]
    return look.function in MATRIX_PRODUCTS and x.sums_to_one == -1


def _convolve(look: Look) -> Range:
    name, x = look.function, plain(look.first())
    if name in ("max_pool", "min_pool"):
        return Range(x.low, x.high, x.integer, False, x.nan)
    if name == "avg_pool":
        return join(Range(x.low, x.high, False, x.finite, x.nan), exactly(0.0))
    if name == "sum_pool":
        return arithmetic.scaled(x, Range(0.0, inf, integer=True))
    return by_dtype(look)


def _pieces(look: Look) -> Sequence[Range]:
    return [part(look.first())] * len(look.op.results)


def split(look: Look) -> Sequence[Range]:
    """Return the pieces of an array; gated units multiply two of them."""
    return [ANY] * len(look.op.results) if look.function == "glu" else _pieces(look)


def join_all(ranges: Sequence[Range]) -> Range:
    """Return the range that covers several."""
    return reduce(join, ranges) if ranges else ANY


TABLE: Mapping[str, Transfer] = {
    **dict.fromkeys(("array.reshape", "array.permute", "array.squeeze"), single(_moved)),
    **dict.fromkeys(("grad.stop", "device.place", "key.within"), single(same)),
    "array.at": single(_moved),
    "array.expand": single(_expand),
    "array.join": single(_joined),
    "array.split": split,
    "array.move": single(_move),
    "array.gather": single(_gather),
    "array.scatter": single(_scatter),
    "array.dot": single(_dot),
    "array.convolve": single(_convolve),
    "py.item": single(_item),
    "py.unpack": _pieces,
}
