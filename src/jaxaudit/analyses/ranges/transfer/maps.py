"""Elementwise ops: functions of one argument by their table, those of two here, with what makes operands related."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, log, pi

from jaxaudit.analyses.ranges import arithmetic
from jaxaudit.analyses.ranges.dtypes import SMALL, of_dtype, wrapped, wraps
from jaxaudit.analyses.ranges.facts import ANY, EVERYWHERE, TRUTH, WILD, Axes, Range, Relation, Zero, exactly
from jaxaudit.analyses.ranges.look import Look, Transfer, single
from jaxaudit.analyses.ranges.transfer import functions
from jaxaudit.analyses.ranges.transfer.functions import UNARY
from jaxaudit.analyses.shapes.dtypes import promote
from jaxaudit.analyses.shapes.literals import literal
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import COUNTED, GROWING, IDENTITIES, ORDERINGS, SQUARE_ROOTS
from jaxaudit.ir.values import index_parts, is_whole

_UNUSED = "both sides hold the same at the places that are filled up"
_REASON = "each element minus itself is 0, on the diagonal"

Binary = Callable[[Range, Range], Range]

_SOME_FALSE = Zero("the comparison is False for some elements", ordinary=True)


def _always(holds: bool) -> Range:
    return Range(float(holds), float(holds), integer=True, nonzero=holds)


def _below(x: Range, y: Range) -> Range:
    return _decided(x.high < y.low, x.low >= y.high, x, y)


def _not_above(x: Range, y: Range) -> Range:
    return _decided(x.high <= y.low, x.low > y.high, x, y)


def _decided(holds: bool, fails: bool, x: Range, y: Range) -> Range:
    if (holds or fails) and not x.nan and not y.nan:
        return _always(holds)
    return TRUTH._replace(zero=_SOME_FALSE)


def _bits(x: Range, y: Range) -> Range:
    """Combine bits: of numbers that are not negative the result is none, and no longer than the longer one."""
    if x.low < 0 or y.low < 0:
        return Range(integer=True)
    top = max(x.high, y.high)
    return Range(0.0, inf if top == inf else 2.0 ** int(top).bit_length() - 1, integer=True)


def _masked_bits(x: Range, y: Range) -> Range:
    tops = [one.high for one in (x, y) if one.low >= 0]
    return Range(0.0, min(tops), integer=True) if tops else Range(integer=True)


def _logaddexp(x: Range, y: Range) -> Range:
    return Range(max(x.low, y.low), max(x.high, y.high) + log(2), False, x.finite and y.finite, x.nan or y.nan)


def _copysign(x: Range, y: Range) -> Range:
    reach = max(abs(x.low), abs(x.high))
    return Range(-reach, reach, x.integer, x.finite, x.nan or y.nan)


def _xlogy(x: Range, y: Range) -> Range:
    made = arithmetic.multiply(x, functions.log(y))
    return made._replace(nan=x.nan or y.nan or y.low < 0)


def _each(names: str, function: Binary) -> dict[str, Binary]:
    return dict.fromkeys(names.split(), function)


BINARY: Mapping[str, Binary] = {
    "add": arithmetic.add,
    "subtract": arithmetic.subtract,
    "multiply": arithmetic.multiply,
    "divide": arithmetic.divide,
    "floor_divide": arithmetic.floor_divide,
    "power": arithmetic.power,
    "remainder": arithmetic.remainder,
    "fmod": arithmetic.truncated_remainder,
    **_each("maximum fmax", arithmetic.maximum),
    **_each("minimum fmin", arithmetic.minimum),
    "less": _below,
    "less_equal": _not_above,
    "greater": lambda x, y: _below(y, x),
    "greater_equal": lambda x, y: _not_above(y, x),
    **_each("equal not_equal isclose", lambda x, y: TRUTH._replace(zero=_SOME_FALSE)),
    **_each("logical_and logical_or logical_xor combine_masks", lambda x, y: TRUTH._replace(zero=x.zero or y.zero)),
    "bitwise_and": _masked_bits,
    **_each("bitwise_or bitwise_xor", _bits),
    **_each("right_shift shift_right_logical", lambda x, y: Range(min(0.0, x.low), max(0.0, x.high), integer=True)),
    "arctan2": lambda x, y: Range(-pi, pi, False, True, x.nan or y.nan),
    "hypot": lambda x, y: functions.sqrt(arithmetic.add(arithmetic.square(x), arithmetic.square(y))),
    "logaddexp": _logaddexp,
    "copysign": _copysign,
    "nextafter": lambda x, y: Range(x.low, x.high, False, x.finite, x.nan or y.nan) if x.low == -inf else ANY,
    "heaviside": lambda x, y: Range(min(0.0, y.low), max(1.0, y.high), False, y.finite, x.nan or y.nan),
    "xlogy": _xlogy,
    "digitize": lambda x, y: Range(0.0, integer=True),
    "xlog1py": lambda x, y: _xlogy(x, arithmetic.add(y, exactly(1.0))),
}
"""Every elementwise function of two arguments whose range is known."""


def map_again(look: Look) -> Range | None:
    """Return the range of an elementwise op, fitted into its dtype; None where it is not modelled."""
    name = look.function
    made = None if look.has("*", "**") else map_range(look, name)
    if made is not None and made.zero is not None and look.op.api in ("relu", "relu6"):
        # Its derivative is a choice, not a product.
        made = made._replace(zero=made.zero._replace(blocks=True))
    return None if made is None else _fitted(look, name, made)


def _map(look: Look) -> Range:
    made = map_again(look)
    return by_dtype(look) if made is None else made


def map_range(look: Look, name: str) -> Range | None:
    """Return the range of an elementwise function; None where it is not modelled."""
    given = look.given()
    if name in UNARY and (name not in BINARY or len(given) < 2):
        return _unary(look, name)
    if name not in BINARY or len(given) < 2:
        return None
    x, y = given[0], given[1]
    first, second = look.of(x), look.of(y)
    special = _RELATED.get(name)
    made = special(look, x, y) if special is not None else None
    return made if made is not None else BINARY[name](first, second)


def _unary(look: Look, name: str) -> Range:
    x = look.first()
    made = UNARY[name](x)
    if name in SQUARE_ROOTS and x.relation is not None and x.relation.kind == "sum":
        squared = _squared(look, x.relation.other)
        if squared is not None and name == "sqrt":
            return made._replace(relation=x.relation._replace(kind="length", other=squared), zero=_no_length(x))
    if name in IDENTITIES:
        return made
    return made._replace(relation=None) if made.relation is not None else made


def _no_length(x: Range) -> Zero:
    ordinary = x.zero is not None and x.zero.ordinary
    return x.zero if ordinary and x.zero is not None else Zero("the length of a zero vector is 0", ordinary=False)


def _squared(look: Look, value: Value) -> Value | None:
    """Return the value whose square another one is."""
    maker = look.maker(value)
    if maker is None:
        return None
    given = list(maker.arguments.values()) or list(maker.operands)
    name = maker.function
    twice = name == "multiply" and len(given) > 1 and given[0] is given[1]
    second_power = name == "power" and len(given) > 1 and given[1] in (2, 2.0)
    if (name == "square" or twice or second_power) and isinstance(given[0], Value):
        return given[0]
    return None


def _relation(look: Look, argument: Argument, other: Argument, *kinds: str) -> Relation | None:
    """Return how an argument is related to another one, when both meet element by element."""
    relation = look.of(argument).relation
    if relation is None or not relation.aligned or relation.kind not in kinds or not isinstance(other, Value):
        return None
    return relation if relation.other is other else None


def _subtracted(look: Look, x: Argument, y: Argument) -> Range | None:
    if isinstance(x, Value) and x is y:
        plain = arithmetic.subtract(look.of(x), look.of(y))
        return exactly(0.0)._replace(nan=plain.nan, integer=plain.integer)
    related = _relation(look, y, x, "max", "above", "min")
    pairs = (_pairwise(look, x, y) or _unused(look, x, y)) if related is None else None
    if related is None and pairs is None:
        return None
    plain = arithmetic.subtract(look.of(x), look.of(y))
    if related is None:
        return plain._replace(zero=pairs)
    if related.kind == "min":
        return plain._replace(low=0.0)
    zero = Zero("the largest element minus the maximum is 0", ordinary=True) if related.kind == "max" else None
    peak = related.axes or EVERYWHERE if related.kind == "max" else None
    return plain._replace(high=0.0, zero=zero, peak=peak)


def _divided(look: Look, x: Argument, y: Argument) -> Range | None:
    first, second = look.of(x), look.of(y)
    part = _relation(look, y, x, "length", "sum", "above", "max")
    if part is None or (part.kind != "length" and first.low < 0):
        return None
    plain = arithmetic.divide(first, second)
    if part.kind == "length":
        return plain._replace(low=-1.0, high=1.0, unit=True, finite=not second.has_zero)
    # What is finite divided by what is at least as large is at most one; nothing divided by nothing is NaN.
    axis = next(iter(part.axes)) if part.kind == "sum" and part.axes is not None and len(part.axes) == 1 else None
    return plain._replace(low=max(plain.low, 0.0), high=1.0, finite=True, sums_to_one=axis, zero=first.zero)


def _added(look: Look, x: Argument, y: Argument) -> Range | None:
    """Something at least as large stays so when a number that is not negative is added."""
    first, second = look.of(x), look.of(y)
    for one, more in ((first, second), (second, first)):
        relation = one.relation
        if relation is not None and more.low >= 0 and relation.kind in ("max", "sum", "above", "length"):
            kind = "length" if relation.kind == "length" else "above"
            safe = relation.kind != "sum" or one.low >= 0
            made = arithmetic.add(first, second)
            return made._replace(relation=relation._replace(kind=kind)) if safe else made
    return None


def _placed(look: Look, x: Argument, y: Argument) -> Range | None:
    """Between the edges of `n` bins there are places from 0, before the first, to `n`, after the last."""
    sizes = look.sizes(y)
    known = sizes is not None and len(sizes) == 1 and sizes[0] is not None
    return Range(0.0, float(sizes[0]), integer=True) if known and sizes is not None and sizes[0] is not None else None


def _larger(look: Look, x: Argument, y: Argument) -> Range | None:
    first, second = look.of(x), look.of(y)
    for one, more in ((first, second), (second, first)):
        relation = one.relation
        if relation is not None and relation.kind in ("max", "sum", "above", "length"):
            same = more.high == -inf or relation.kind == "length"
            safe = relation.kind != "sum" or one.low >= 0
            made = arithmetic.maximum(first, second)
            kind = relation.kind if same else "above"
            return made._replace(relation=relation._replace(kind=kind)) if safe else made
    return None


def _same_index(look: Look, x: Argument, y: Argument) -> Range | None:
    """Comparing an index with all positions along an axis gives a one-hot vector."""
    if isinstance(x, Value) and x is y and not look.of(x).nan:
        return _always(True)
    extreme = _relation(look, y, x, "max", "min") or _relation(look, x, y, "max", "min")
    if extreme is not None:
        # Some element is the extreme one, so along these axes the comparison holds somewhere.
        return TRUTH._replace(zero=_SOME_FALSE, peak=extreme.axes or EVERYWHERE)
    for one, whole in ((x, y), (y, x)):
        if _is_entry(look, one, whole) and not look.of(whole).nan:
            # It is equal to itself at least, at its own place along the first axis.
            rank = len(look.sizes(whole) or ())
            return TRUTH._replace(zero=_SOME_FALSE, peak=frozenset({-rank}) if rank else EVERYWHERE)
    for index, positions in ((x, y), (y, x)):
        axis = _counted_axis(look, positions)
        sizes = look.sizes(index)
        if axis is None or sizes is None or not (len(sizes) < -axis or sizes[axis] == 1):
            continue
        size = (look.sizes(positions) or (None,) * -axis)[axis]
        inside = size is not None and look.of(index).integer and 0 <= look.of(index).low <= look.of(index).high < size
        return TRUTH._replace(zero=_NOT_THIS, one_hot=axis, sums_to_one=axis if inside else None)
    return None


def _is_entry(look: Look, one: Argument, whole: Argument) -> bool:
    """Whether a value is what stands at one place along the first axis of another: `x[i]`, or `for one in x`."""
    maker = look.maker(one)
    if maker is None or not isinstance(whole, Value) or maker.arguments.get(_ENTRIES.get(maker.name, "")) is not whole:
        return False
    index = maker.arguments.get("index")
    return isinstance(index, int) or (isinstance(index, Value) and look.sizes(index) == ())


_ENTRIES = {"py.element": "iterable", "py.item": "base"}
"""Ops that give one entry of an array, and the argument that is the array."""


def _against_positions(look: Look, x: Argument, y: Argument) -> Range | None:
    """Comparing all positions along an axis with a number between them holds somewhere and fails somewhere."""
    for positions, other in ((x, y), (y, x)):
        axis, number = _counted_axis(look, positions), look.of(other).constant
        counted = look.of(positions)
        if axis is not None and number is not None and counted.low < number < counted.high:
            return TRUTH._replace(zero=_SOME_FALSE, peak=frozenset({axis}))
    return None


def _differs(look: Look, x: Argument, y: Argument) -> Range | None:
    """Nothing but NaN differs from itself."""
    return _always(False) if isinstance(x, Value) and x is y and not look.of(x).nan else None


_NOT_THIS = Zero("a one-hot vector is 0 but for one element", ordinary=True)


def _counted_axis(look: Look, positions: Argument) -> int | None:
    """Return the axis along which an array counts 0, 1, 2, ...; None where it does not."""
    maker = look.maker(positions)
    sizes = look.sizes(positions)
    if maker is None or not sizes or maker.function not in COUNTED:
        return None
    dimension = maker.arguments.get("dimension", 0)
    return dimension - len(sizes) if isinstance(dimension, int) and look.of(positions).low == 0 else None


_RELATED: Mapping[str, Callable[[Look, Argument, Argument], Range | None]] = {
    "digitize": _placed,
    "subtract": _subtracted,
    "multiply": lambda look, x, y: arithmetic.square(look.of(x)) if isinstance(x, Value) and x is y else None,
    "divide": _divided,
    "add": _added,
    **dict.fromkeys(("maximum", "max"), _larger),
    "equal": _same_index,
    "not_equal": _differs,
    **dict.fromkeys(ORDERINGS, _against_positions),
}


def result_dtype(look: Look) -> str | None:
    """Return the dtype of an elementwise result: as it is known, or as the operands make it."""
    dtype = look.out_dtype
    if dtype is not None or look.known.types:
        return dtype
    shapes = look.known.shapes
    return promote(literal(argument, shapes.of) for argument in look.given()[:2])[0]


def _fitted(look: Look, name: str, made: Range) -> Range:
    """Put a result into its dtype: small integers wrap around, wide ones only where a bound shows it."""
    dtype = result_dtype(look)
    if dtype is None:
        small = [one for argument in look.given() if (one := look.dtype(argument)) in SMALL]
        return Range(integer=True) if made.integer and any(wraps(made, one) for one in small) else made
    if dtype in SMALL or dtype.startswith(("int", "uint")):
        made = _truncated(made) if name == "divide" else made
        if name in GROWING and not made.is_bounded and not look.op.is_operator:
            return of_dtype(dtype)
        return wrapped(made, dtype)
    return made


def _truncated(made: Range) -> Range:
    low = made.low if abs(made.low) == inf else float(int(made.low))
    high = made.high if abs(made.high) == inf else float(int(made.high))
    return made._replace(low=low, high=high, integer=True, nonzero=False)


def by_dtype(look: Look) -> Range:
    """Return what the dtype of a result says; nothing else is known of it."""
    dtype = look.out_dtype
    return WILD if dtype is None or not (dtype == "bool" or "int" in dtype) else of_dtype(dtype)


TABLE: Mapping[str, Transfer] = {"array.map": single(_map)}


def _pairwise(look: Look, x: Argument, y: Argument) -> Zero | None:
    """Return the zeros of an array minus itself in another layout; None for any other difference."""
    first, second = _paired(look, x), _paired(look, y)
    if first is None or second is None or first[0] is not second[0] or first[1] == second[1]:
        return None
    if first[2] and second[2] and first[2] != second[2]:
        return None
    return Zero(_REASON, ordinary=True, fixed=True, along=frozenset(range(2 - max(first[2], second[2]), 0)))


def _unused(look: Look, x: Argument, y: Argument) -> Zero | None:
    """Return the zeros of a difference at the unused places, where the same stands on both sides."""
    first, second = look.of(x).filler, look.of(y).filler
    if first is None or first != second or x is y:
        return None
    return Zero(_UNUSED, ordinary=first.sure, fixed=True, along=frozenset(range(-first.alike, 0)))


def _paired(look: Look, argument: Argument) -> tuple[Value, Axes, int] | None:
    """Return an array, the place of the one axis that was put in near its front, and the new rank, 0 if unknown."""
    maker = look.maker(argument)
    if maker is None:
        return None
    base = next(iter(maker.arguments.values()), None)
    if maker.name == "array.expand" and maker.qualified.endswith(("broadcast_to", "expand_dims")):
        # A trace puts the axis in first, and then copies along it.
        before = _paired(look, base) if isinstance(base, Value) else None
        return _merged(before, _expanded(look, maker, base), base)
    new = _indexed(look, maker, base) if maker.name == "py.item" else None
    return (base, *new) if new is not None and isinstance(base, Value) else None


def _merged(
    before: tuple[Value, Axes, int] | None, new: tuple[Axes, int] | None, base: Argument
) -> tuple[Value, Axes, int] | None:
    if before is not None and new is not None and not new[0] and before[2] == new[1]:
        return before
    return (base, *new) if new is not None and new[0] and isinstance(base, Value) else None


def _indexed(look: Look, maker: Op, base: Argument) -> tuple[Axes, int] | None:
    index = maker.arguments.get("index", "")
    parts = index_parts(index)
    if not all(one is None or is_whole(one) for one in parts):
        return None
    sizes = look.sizes(base)
    rank = len(sizes) + 1 if sizes is not None else len(parts) if len(parts) > 2 else 0
    places = frozenset(i for i, one in enumerate(parts) if one is None)
    return (places, rank) if len(places) == 1 and places <= {0, 1} else None


def _expanded(look: Look, maker: Op, base: Argument) -> tuple[Axes, int] | None:
    kept, shape = maker.arguments.get("broadcast_dimensions"), maker.arguments.get("shape")
    if isinstance(kept, tuple) and isinstance(shape, tuple):
        places = frozenset(i for i in range(len(shape)) if i not in kept)
        return (places, len(shape)) if len(places) <= 1 and places <= {0, 1} else None
    axis = maker.arguments.get("axis")
    sizes = look.sizes(base)
    if isinstance(axis, int) and axis in (0, 1) and sizes is not None:
        return frozenset({axis}), len(sizes) + 1
    return None
