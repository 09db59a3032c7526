"""New arrays, conversions between dtypes, and numbers drawn from keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf

from jaxaudit.analyses.ranges.dtypes import SMALL, WIDE, is_integer, of_dtype, wrapped
from jaxaudit.analyses.ranges.facts import TRUTH, WILD, Range, Zero, exactly, join, plain
from jaxaudit.analyses.ranges.look import Look, Transfer, single
from jaxaudit.analyses.ranges.transfer.maps import by_dtype
from jaxaudit.ir import Argument, Value
from jaxaudit.ir.functions import IDENTITIES, REINTERPRETED

_TINIEST: Mapping[str, float] = {"float16": 6e-8, "bfloat16": 1e-38, "float32": 1e-38}
"""What is smaller becomes zero in these types."""

_FIRST = Zero("the first element of `arange` is 0", ordinary=True, fixed=True)
_DRAWN = Zero("a uniform draw may be exactly 0", ordinary=False, noted=True)
_BOTH = frozenset({-2, -1})
_DIAGONAL = Zero("all elements off the diagonal are 0", ordinary=True, fixed=True)


Known = Callable[[Look], Range]


def _positions(look: Look) -> Range:
    """Return the elements of `arange`, whether it counts from zero or between two ends."""
    shape, dimension = look.raw("shape"), look.raw("dimension")
    if isinstance(shape, tuple) and isinstance(dimension, int):
        size = shape[dimension] if dimension < len(shape) else None
        return Range(0.0, max(size - 1.0, 0.0) if isinstance(size, int) else inf, integer=True, zero=_FIRST)
    if look.has("size") and not look.has("start"):
        return Range(0.0, max(look.range("size").high - 1, 0.0), integer=True, zero=_FIRST)
    start, stop = look.range("start"), look.range("stop")
    if look.raw("stop") is None:
        start, stop = exactly(0.0), start
    step = look.range("step") if look.raw("step") is not None else exactly(1.0)
    whole = start.integer and step.integer
    if step.low > 0:
        top = stop.high - 1 if whole and stop.integer else stop.high
        return Range(start.low, max(top, start.low), whole, zero=_FIRST if start.constant == 0 else None)
    if step.high < 0:
        return Range(min(stop.low, start.low), start.high, whole)
    return Range(integer=whole)


def _between(look: Look) -> Range:
    made = join(plain(look.range("start")), plain(look.range("stop")))
    return Range(made.low, made.high, False, made.finite, made.nan)


def _constant(number: float) -> Known:
    return lambda look: exactly(number)


def _counting(look: Look) -> Range:
    return Range(0.0, inf, integer=True)


def _diagonal(look: Look) -> Range:
    """Return ones on the main diagonal, of which there is one at least, or on another one, which may lie outside."""
    main, size = look.raw("k") in (None, 0), look.raw("N", "n")
    if main and size == 1 and look.raw("M") in (None, 1):
        return Range(1.0, 1.0, integer=True)
    # Of a size that is not known it may be the one on the diagonal that is asked about.
    zero = _DIAGONAL if isinstance(size, int) or not main else _DIAGONAL._replace(ordinary=False)
    return TRUTH._replace(zero=zero, peak=_BOTH if main else None)


def _each(names: str, function: Known) -> dict[str, Known]:
    return dict.fromkeys(names.split(), function)


CREATE: Mapping[str, Known] = {
    **_each("array asarray", lambda look: plain(look.first())),
    **_each("zeros zeros_like zeros_init empty empty_like", _constant(0.0)),
    **_each("ones ones_like ones_init", _constant(1.0)),
    **_each("full full_like", lambda look: plain(look.range("fill_value"))),
    **_each("arange iota broadcasted_iota", _positions),
    "linspace": _between,
    **_each("eye identity", _diagonal),
    "tri": lambda look: TRUTH._replace(zero=_DIAGONAL),
    **_each("diag_indices diag_indices_from indices tril_indices triu_indices", _counting),
    **_each("tril_indices_from triu_indices_from", _counting),
    **_each("bartlett hamming hanning", lambda look: Range(0.0, 1.0)),
}
"""Every creation whose range is known."""


def _create(look: Look) -> Range:
    if look.op.recomputed:
        return draw(look)
    known = CREATE.get(look.function)
    if known is None or look.has("*", "**"):
        return by_dtype(look)
    return put_into(known(look), look.out_dtype)


def put_into(one: Range, dtype: str | None) -> Range:
    """Return the range of numbers once they are converted to a dtype."""
    if dtype == "bool":
        if one.constant is not None:
            return exactly(float(one.constant != 0))
        return TRUTH._replace(zero=one.zero, one_hot=one.one_hot, nonzero=not one.has_zero)
    if dtype in SMALL or dtype in WIDE:
        return wrapped(_whole(one), dtype)
    tiniest = _TINIEST.get(dtype or "", 0.0)
    if 0 < one.low < tiniest:
        return one._replace(low=0.0, nonzero=False)
    return one


def _whole(one: Range) -> Range:
    """Return the whole numbers that elements become: fractions are cut off."""
    if one.integer:
        return one
    low, high = (end if abs(end) == inf else float(int(end)) for end in (one.low, one.high))
    nonzero = low > 0 or high < 0
    return Range(low, high, True, True, False, nonzero, one.zero, one_hot=one.one_hot)


def convert(look: Look) -> Range:
    """Return the range of a value in another dtype."""
    name = look.function
    if name in IDENTITIES:
        return look.first()
    if name in REINTERPRETED:
        return by_dtype(look)
    dtype = look.out_dtype or look.asked_dtype()
    if dtype is None and name != "astype":
        dtype = name if is_integer(name) else None
    if dtype is None:
        one = look.first()
        # Whatever it becomes, what is between two whole numbers stays between them.
        return one if one.integer else plain(one._replace(nonzero=False))
    return put_into(look.first(), dtype)


def _uniform(look: Look) -> Range:
    low, high = _ends(look, 0.0, 1.0)
    top = high.high
    top = 1 - 2.0**-24 if top == 1.0 and low.low == 0.0 else top
    return Range(low.low, max(top, low.low), zero=_DRAWN if low.constant == 0 else None)


def _integers(look: Look) -> Range:
    low, high = _ends(look, 0.0, inf)
    return Range(low.low, max(high.high - 1, low.low), integer=True)


def _truncated(look: Look) -> Range:
    low, high = _ends(look, -inf, inf)
    return Range(low.low, high.high)


def _ends(look: Look, low: float, high: float) -> tuple[Range, Range]:
    """Return the two ends of a draw: by their names in source, by their order in a trace."""
    operands = look.raw("operands")
    if isinstance(operands, tuple):
        pair = operands if len(operands) == 2 else (None, None)
        return look.of(pair[0]), look.of(pair[1])
    first, second = look.raw("minval", "lower"), look.raw("maxval", "upper")
    if look.known.types:
        return (exactly(low), exactly(high)) if low == 0.0 and high == 1.0 else (Range(), Range())
    return (look.of(first) if first is not None else _end(low), look.of(second) if second is not None else _end(high))


def _end(number: float) -> Range:
    return Range() if abs(number) == inf else exactly(number)


def _traced_source(look: Look) -> Argument:
    """Return the array that a traced draw reads beside its key; None where there is none or more than one."""
    operands = look.raw("operands")
    arrays = [one for one in operands if isinstance(one, Value)] if isinstance(operands, tuple) else []
    return arrays[0] if len(arrays) == 1 else None


def _traced_category(look: Look) -> Range:
    sizes, out = look.sizes(_traced_source(look)), look.known.sizes(look.op.results[0])
    gone = [sizes[i] for i in range(len(sizes)) if (*sizes[:i], *sizes[i + 1 :]) == out] if sizes else []
    top = max((size for size in gone if size is not None), default=None)
    return Range(0.0, inf if top is None else top - 1.0, integer=True)


def _category(look: Look) -> Range:
    if look.known.types:
        return _traced_category(look)
    logits = look.raw("logits")
    sizes = look.sizes(logits)
    axis = look.raw("axis") if look.has("axis") else -1
    size = sizes[axis] if sizes and isinstance(axis, int) and -len(sizes) <= axis < len(sizes) else None
    return Range(0.0, inf if size is None else size - 1.0, integer=True)


def _shuffled(look: Look) -> Range:
    """A traced permutation of a number has no array to read: it makes its own."""
    sizes = look.known.sizes(look.op.results[0])
    if look.known.types and not look.has("operands") and sizes and len(sizes) == 1 and sizes[0] is not None:
        return Range(0.0, max(sizes[0] - 1.0, 0.0), integer=True)
    return _choice(look)


def _choice(look: Look) -> Range:
    source = _traced_source(look) if look.known.types else look.raw("a", "x")
    if isinstance(source, int) and not isinstance(source, bool):
        return Range(0.0, max(source - 1.0, 0.0), integer=True)
    if source is None or (sizes := look.sizes(source)) is None:
        return WILD
    one = look.of(source)
    return Range(0.0, inf, integer=True) if sizes == () else plain(one)


def _at_least_zero(look: Look) -> Range:
    return Range(0.0, inf)


DRAWS: Mapping[str, Known] = {
    "uniform": _uniform,
    "randint": _integers,
    "truncated_normal": _truncated,
    "bernoulli": lambda look: TRUTH._replace(zero=Zero("a draw may be 0", ordinary=True)),
    "rademacher": lambda look: Range(-1.0, 1.0, integer=True, nonzero=True),
    "categorical": _category,
    "choice": _choice,
    **_each("permutation shuffle", _shuffled),
    **_each("beta", lambda look: Range(0.0, 1.0)),
    "dirichlet": lambda look: Range(0.0, 1.0, sums_to_one=-1),
    **_each("poisson geometric binomial multinomial", lambda look: Range(0.0, inf, integer=True)),
    **_each("exponential gamma chisquare rayleigh maxwell pareto weibull_min f", _at_least_zero),
    "lognormal": lambda look: Range(0.0, inf, finite=False),
    "wald": _at_least_zero,
}
"""Every draw whose range is known; a normal draw may be any number."""


def draw(look: Look) -> Range:
    """Return the range of numbers drawn from a key."""
    known = DRAWS.get(look.function)
    if known is None:
        return of_dtype(look.out_dtype)
    made = known(look)
    return made if look.out_dtype is None else put_into(made, look.out_dtype)


def _seeded(look: Look) -> Sequence[Range]:
    return [WILD] * len(look.op.results)


TABLE: Mapping[str, Transfer] = {
    "array.create": single(_create),
    "array.convert": single(convert),
    "key.draw": single(draw),
    **dict.fromkeys(("key.seed", "key.split", "key.fold_in", "key.clone", "key.wrap", "key.stream"), _seeded),
}
