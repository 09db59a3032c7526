"""Reductions, running reductions, and what is ordered by its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, log, prod

from jaxaudit.analyses.ranges import arithmetic
from jaxaudit.analyses.ranges.dtypes import wrapped
from jaxaudit.analyses.ranges.facts import EMPTY_BIN, TRUTH, Axes, Range, Relation, Zero, exactly, join, plain
from jaxaudit.analyses.ranges.look import Look, Transfer, axes_from_end, single
from jaxaudit.analyses.ranges.transfer.maps import by_dtype
from jaxaudit.ir.functions import BEST, PICKED_POSITIONS, SORTED

_ANY_COUNT = Range(0.0, inf, integer=True)


Known = Callable[[Look], Range]


def _axes(look: Look) -> tuple[Axes | None, bool]:
    """Return the reduced axes, counted from the end, and whether they are known; None stands for all of them."""
    axis = look.raw("axis", "axes")
    if axis is None:
        return None, True
    sizes = look.sizes(look.leading())
    found = axes_from_end(axis, None if sizes is None else len(sizes))
    if found is not None and sizes is not None and len(found) == len(sizes):
        return None, True
    return found, found is not None


def _count(look: Look) -> Range:
    """Return how many elements each result is made of."""
    sizes = look.sizes(look.leading())
    axes, known = _axes(look)
    if sizes is None or not known or look.raw("where") is not None:
        return (
            _ANY_COUNT if look.raw("where") is None or sizes is None else Range(0.0, _total(sizes, axes), integer=True)
        )
    total = _total(sizes, axes)
    return _ANY_COUNT if total == inf else exactly(total)


def _total(sizes: tuple[int | None, ...], axes: Axes | None) -> float:
    taken = [sizes[axis] for axis in (range(len(sizes)) if axes is None else axes) if -len(sizes) <= axis < len(sizes)]
    return inf if None in taken else float(prod(size for size in taken if size is not None))


def _related(look: Look, kind: str) -> Relation | None:
    """Return what the result was reduced from, and whether broadcasting will pair the right elements again."""
    other = look.first_value()
    axes, known = _axes(look)
    if other is None or not known or look.raw("where") is not None:
        return None
    sizes = look.sizes(other)
    rank = None if sizes is None else len(sizes)
    leading = axes is not None and rank is not None and axes == frozenset(range(-rank, -rank + len(axes)))
    return Relation(kind, other, axes, axes is None or leading or look.raw("keepdims") is True)


def _sum(look: Look) -> Range:
    x, count = look.first(), _count(look)
    made = arithmetic.scaled(x, count)
    axes, known = _axes(look)
    low = made.low
    if x.peak is not None and known and (axes is None or x.peak <= axes) and x.low >= 0:
        low = max(low, x.high)
    if x.sums_to_one is not None and known and axes == frozenset({x.sums_to_one}):
        return Range(0.99, 1.01, finite=True, nan=x.nan, nonzero=True)
    zero = _total_zero(look, x, axes) if x.low >= 0 and x.zero is not None and known else None
    if look.has("initial"):
        made = arithmetic.add(made, look.range("initial"))
        return made._replace(zero=zero)
    nonzero = low > 0 or made.high < 0
    return Range(
        low,
        made.high,
        x.integer,
        made.finite,
        made.nan,
        nonzero,
        zero,
        relation=_related(look, "sum"),
        counts=_counts(x),
    )


def _total_zero(look: Look, x: Range, axes: Axes | None) -> Zero:
    """Return how a sum of numbers that are not negative comes to be zero: all of them are."""
    if x.zero is not None and _are_along(look, axes, x.zero):
        return x.zero
    return Zero(_all_zero(x), ordinary=False, noted=x.is_mask)


def _are_along(look: Look, axes: Axes | None, zero: Zero) -> bool:
    """Whether what is reduced is zero along all of some axes at once; None stands for all that it has."""
    sizes = look.sizes(look.leading())
    reduced = axes if axes is not None or sizes is None else frozenset(range(-len(sizes), 0))
    return reduced is not None and reduced <= zero.along


def _counts(x: Range) -> bool:
    return x.is_mask and x.constant is None


def _all_zero(x: Range) -> str:
    return "no element of the mask is 1" if x.is_mask else "all elements are 0"


def _mean(look: Look) -> Range:
    x = look.first()
    zero = Zero(_all_zero(x), ordinary=False) if x.low >= 0 and x.zero is not None else None
    return Range(x.low, x.high, False, x.finite, x.nan or arithmetic.clash(x, x), x.low > 0 or x.high < 0, zero)


def _extreme(kind: str) -> Known:
    def run(look: Look) -> Range:
        x = plain(look.first())
        zero = x.zero if kind == "min" and x.low >= 0 and x.zero else None
        if kind == "max" and x.low >= 0 and x.zero:
            zero = Zero(_all_zero(x), ordinary=False)
        made = x._replace(zero=zero, sinks="", unit=False, counts=False, relation=_related(look, kind))
        return join(made, look.range("initial")) if look.has("initial") else made

    return run


def _product(look: Look) -> Range:
    x = look.first()
    inside = x.low >= 0 and x.high <= 1
    return Range(0.0 if x.low >= 0 else -inf, 1.0 if inside else inf, x.integer, x.finite, x.nan, zero=x.zero)


def _spread(*, squared: bool) -> Known:
    """Standard deviation and variance: at most half of the way from end to end."""

    def run(look: Look) -> Range:
        x = look.first()
        half = (x.high - x.low) / 2 if x.is_bounded else inf
        corrected = look.raw("ddof", "correction") not in (None, 0, 0.0)
        high = inf if half == inf or corrected else half * half if squared else half
        return Range(0.0, high, False, x.finite, x.nan, zero=Zero("all elements may be equal", ordinary=False))

    return run


def _log_sum_exp(look: Look) -> Range:
    x, count = look.first(), _count(look)
    high = x.high + log(count.high) if 0 < count.high < inf and x.high < inf else inf
    low = x.low if not look.has("b", "where") else -inf
    return Range(low, high, False, x.finite, x.nan)


def _truth(look: Look) -> Range:
    zero = Zero("the condition may fail", ordinary=False)
    return TRUTH._replace(zero=zero)


def _counted(look: Look) -> Range:
    zero = Zero("there may be none", ordinary=False)
    return Range(0.0, max(_count(look).high, 0.0), integer=True, counts=True, zero=zero)


def _tallied(look: Look) -> Range:
    return _counted(look)._replace(zero=EMPTY_BIN)


def _within(look: Look) -> Range:
    x = look.first()
    return Range(x.low, x.high, False, x.finite, x.nan)


def _reach(look: Look) -> Range:
    x = look.first()
    return Range(0.0, x.high - x.low if x.is_bounded else inf, x.integer, x.finite, x.nan)


def norm(look: Look) -> Range:
    """Return a norm: never negative, and zero for a zero vector."""
    x = look.first()
    relation = _related(look, "length") if look.raw("ord") in (None, 2) else None
    zero = Zero("the norm of a zero vector is 0", ordinary=False)
    axes, known = _axes(look)
    if known and x.zero is not None and _are_along(look, axes, x.zero):
        zero = x.zero
    return Range(0.0, inf, False, x.finite, x.nan, zero=zero, relation=relation)


def _segments(kind: str) -> Known:
    """Groups of elements by index: a group may be empty."""

    def run(look: Look) -> Range:
        x = look.first()
        empty = Zero("a group may be empty", ordinary=False, noted=True)
        if kind == "sum":
            counts = x.constant == 1 or _counts(x)
            return arithmetic.scaled(x, _ANY_COUNT)._replace(zero=empty if x.low >= 0 else None, counts=counts)
        if kind == "prod":
            return _product(look)._replace(zero=None)
        return Range(-inf if kind == "max" else x.low, inf if kind == "min" else x.high, x.integer, False, x.nan)

    return run


def _each(names: str, function: Known) -> dict[str, Known]:
    return dict.fromkeys(names.split(), function)


REDUCE: Mapping[str, Known] = {
    **_each("sum nansum", _sum),
    **_each("mean nanmean median nanmedian", _mean),
    "average": lambda look: (
        _mean(look) if look.range("weights").low >= 0 or not look.has("weights") else by_dtype(look)
    ),
    **_each("percentile quantile nanpercentile nanquantile mode logmeanexp", _within),
    **_each("max nanmax", _extreme("max")),
    **_each("min nanmin", _extreme("min")),
    **_each("prod nanprod product", _product),
    **_each("std nanstd", _spread(squared=False)),
    **_each("var nanvar", _spread(squared=True)),
    "logsumexp": _log_sum_exp,
    **_each("all any alltrue sometrue allclose array_equal array_equiv", _truth),
    "count_nonzero": _counted,
    "bincount": lambda look: _tallied(look) if look.raw("weights") is None else by_dtype(look),
    "ptp": _reach,
    "segment_sum": _segments("sum"),
    "segment_max": _segments("max"),
    "segment_min": _segments("min"),
    "segment_prod": _segments("prod"),
}
"""Every reduction whose range is known."""


def _reduce(look: Look) -> Range:
    known = REDUCE.get(look.function)
    if known is None or look.has("*", "**") or look.raw("returned", "return_sign") not in (None, False):
        return by_dtype(look)
    return wrapped(known(look), look.out_dtype)


def _running_sum(look: Look) -> Range:
    x = look.first()
    sizes = look.sizes(look.leading())
    whole = inf if sizes is None or None in sizes else float(prod(size for size in sizes if size is not None))
    made = arithmetic.scaled(x, Range(1.0, max(whole, 1.0), integer=True))
    return made._replace(nonzero=made.low > 0 or made.high < 0, counts=x.is_mask)


SCAN: Mapping[str, Known] = {
    **_each("cumsum nancumsum", _running_sum),
    **_each("cumprod nancumprod cumproduct", _product),
    **_each("cummax cummin", lambda look: plain(look.first())),
    "cumlogsumexp": lambda look: Range(look.first().low, inf, False, look.first().finite, look.first().nan),
}


def _scan(look: Look) -> Range:
    known = SCAN.get(look.function)
    return by_dtype(look) if known is None else wrapped(known(look), look.out_dtype)


def total_range(look: Look) -> Range | None:
    """Return between which numbers a sum of many lies, whatever type it is kept in; None for other functions."""
    known = REDUCE.get(look.function) if look.function in ("sum", "nansum") else None
    known = SCAN.get(look.function) if look.function in ("cumsum", "nancumsum") else known
    return None if known is None else known(look)


def _size_along(look: Look) -> float:
    """Return the size of the axis that is searched; infinite where it is not known."""
    base = look.leading()
    first = base[0] if isinstance(base, tuple) and base else base
    sizes = look.sizes(first)
    axes, known = _axes(look) if look.has("axis") else (None, True)
    if sizes is None or not known:
        return inf
    return _total(sizes, axes)


def position(look: Look) -> Range:
    """Return an index into the axis that is searched."""
    return Range(0.0, max(_size_along(look) - 1, 0.0), integer=True)


def _order(look: Look) -> Sequence[Range]:
    name, count = look.function, len(look.op.results)
    if name in PICKED_POSITIONS or name == "argpartition":
        return [position(look)] * count
    if name in ("argsort", "lexsort"):
        return [position(look) if look.has("axis") or _is_flat(look) else Range(0.0, inf, integer=True)] * count
    if name in BEST:
        return [plain(look.first()), Range(0.0, inf, integer=True)][:count] if count > 1 else [by_dtype(look)] * count
    if name == "searchsorted":
        return [Range(0.0, _size_along(look), integer=True)] * count
    if name in ("argwhere", "flatnonzero", "nonzero"):
        # What is filled in stands for nothing, and is often no place at all.
        filled = look.of(look.raw("fill_value")) if look.has("fill_value") else Range(0.0, 0.0, integer=True)
        return [Range(min(0.0, filled.low), inf, integer=True)] * count
    if name in SORTED:
        return _sorted(look, count)
    return [by_dtype(look)] * count


def _sorted(look: Look, count: int) -> list[Range]:
    arrays = look.leading()
    if isinstance(arrays, tuple) and len(arrays) == count:
        return [plain(look.of(one)) for one in arrays]
    return [plain(look.first()) if count == 1 else by_dtype(look)] * count


def _is_flat(look: Look) -> bool:
    sizes = look.sizes(look.leading())
    return sizes is not None and len(sizes) == 1


def _normalise(look: Look) -> Range:
    x = look.first()
    axis = look.raw("axis") if look.has("axis") else -1
    value = look.first_value()
    sizes = look.sizes(value) if value is not None else None
    axes = axes_from_end(axis, None if sizes is None else len(sizes))
    nan = x.nan or not x.finite
    if look.function == "softmax":
        zero = Zero(x.sinks, ordinary=True) if x.sinks else None
        only = next(iter(axes)) if axes is not None and len(axes) == 1 and look.raw("where") is None else None
        return Range(0.0, 1.0, False, True, nan, zero=zero, sums_to_one=only)
    if look.function == "log_softmax":
        return Range(-inf, 0.0, False, x.finite and not look.has("where"), nan, sinks=x.sinks)
    return Range(finite=x.finite, nan=x.nan)


def _linalg(look: Look) -> Sequence[Range]:
    if look.function in ("norm", "vector_norm", "matrix_norm"):
        return [norm(look)]
    if look.function in ("svdvals", "matrix_rank"):
        return [Range(0.0, inf, look.function == "matrix_rank", nan=True)]
    return [by_dtype(look)] * len(look.op.results)


TABLE: Mapping[str, Transfer] = {
    "array.reduce": single(_reduce),
    "array.scan": single(_scan),
    "array.order": _order,
    "array.normalise": single(_normalise),
    "array.linalg": _linalg,
}
