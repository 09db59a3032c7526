"""Arithmetic on ranges: each function gives a range that holds every result of its operands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from math import floor, inf, isnan

from jaxaudit.analyses.ranges.facts import Range, Zero

_remembered = lru_cache(maxsize=1024)
"""Most values of a program have one of a few ranges."""


def product(a: float, b: float) -> float:
    """Multiply two ends; zero times an unknown end is zero."""
    return 0.0 if a == 0 or b == 0 else a * b


def _span(ends: Iterable[float]) -> tuple[float, float]:
    known = [end for end in ends if not isnan(end)]
    return (min(known), max(known)) if known else (-inf, inf)


def _infinite(one: Range, end: float) -> bool:
    """Whether an element may be infinite at one end."""
    return not one.finite and (one.high if end > 0 else one.low) == end


def clash(x: Range, y: Range) -> bool:
    """Whether adding may meet infinities of opposite sign."""
    return (_infinite(x, inf) and _infinite(y, -inf)) or (_infinite(x, -inf) and _infinite(y, inf))


@_remembered
def add(x: Range, y: Range) -> Range:
    """Add two ranges."""
    low, high = x.low + y.low, x.high + y.high
    low, high = -inf if isnan(low) else low, inf if isnan(high) else high
    nan = x.nan or y.nan or clash(x, y)
    zero = None
    if x.low >= 0 and y.low >= 0 and x.zero and y.zero:
        zero = Zero(x.zero.reason, ordinary=False)
    nonzero = (x.low >= 0 and y.low >= 0 and (not x.has_zero or not y.has_zero)) or (
        x.high <= 0 and y.high <= 0 and (not x.has_zero or not y.has_zero)
    )
    zero = x.zero if y.constant == 0 else y.zero if x.constant == 0 else zero
    sinks = x.sinks if not y.sinks else y.sinks if not x.sinks else ""
    counts = (x.counts and y.counts) or (x.counts and y.integer and y.low >= 0)
    return Range(
        low, high, x.integer and y.integer, x.finite and y.finite, nan, nonzero, zero, sinks=sinks, counts=counts
    )


def negative(x: Range) -> Range:
    """Negate a range."""
    return Range(-x.high, -x.low, x.integer, x.finite, x.nan, x.nonzero, x.zero)


@_remembered
def subtract(x: Range, y: Range) -> Range:
    """Subtract a range; a mask that is subtracted from one has a zero where the mask is one."""
    made = add(x, negative(y))._replace(counts=False)
    zero = None
    if x.constant == 1 and y.is_mask and y.zero and y.zero.ordinary:
        zero = Zero("1 - mask is 0 wherever the mask is 1", ordinary=True)
    elif y.constant == 0:
        zero = x.zero
    # What is subtracted cannot lift the lowest elements, unless it sinks with them.
    return made._replace(zero=zero, sinks="" if y.sinks else x.sinks, nonzero=made.nonzero and x.constant != y.constant)


@_remembered
def multiply(x: Range, y: Range) -> Range:
    """Multiply two ranges."""
    low, high = _span((product(x.low, y.low), product(x.low, y.high), product(x.high, y.low), product(x.high, y.high)))
    nan = x.nan or y.nan or (not x.finite and y.has_zero) or (not y.finite and x.has_zero)
    zero = next((one for one in (x.zero, y.zero) if one is not None and one.ordinary), x.zero or y.zero)
    scale = x.constant if x.constant is not None else y.constant
    sinks = (x.sinks or y.sinks) if scale is not None and scale > 0 else ""
    counts = (x.counts and y.integer and y.low >= 0) or (y.counts and x.integer and x.low >= 0)
    # A product of two numbers that are not zero may still underflow; whole numbers cannot.
    whole = x.integer and y.integer
    nonzero = (whole or _is_far(x, y)) and not x.has_zero and not y.has_zero
    return Range(low, high, whole, x.finite and y.finite, nan, nonzero, zero, sinks, counts=counts)


_TINY = 1e-18


def _distance(x: Range) -> float:
    """Return how far from zero every element is."""
    return x.low if x.low > 0 else -x.high if x.high < 0 else 0.0


def _is_far(x: Range, y: Range) -> bool:
    return _distance(x) > _TINY and _distance(y) > _TINY


def square(x: Range) -> Range:
    """Square a range: the same operand twice."""
    top = max(product(x.low, x.low), product(x.high, x.high))
    low = min(product(x.low, x.low), product(x.high, x.high)) if x.low > 0 or x.high < 0 else 0.0
    nonzero = not x.has_zero and (x.integer or _distance(x) > _TINY)
    return Range(low, top, x.integer, x.finite, x.nan, nonzero, x.zero)


def reciprocal(y: Range) -> Range:
    """Return one over a range."""
    if y.low > 0 or y.high < 0:
        ends = [0.0 if abs(end) == inf else 1.0 / end for end in (y.low, y.high)]
        return Range(min(ends), max(ends), False, True, y.nan)
    if y.low == 0:
        top_end = 0.0 if y.high in (0, inf) else 1.0 / y.high
        return Range(top_end, inf, False, y.nonzero, y.nan)
    if y.high == 0:
        return Range(-inf, 0.0 if y.low == -inf else 1.0 / y.low, False, y.nonzero, y.nan)
    return Range(-inf, inf, False, y.nonzero, y.nan)


@_remembered
def divide(x: Range, y: Range) -> Range:
    """Divide two ranges."""
    # Zero counts as positive, as sums, counts and squares are.
    over = Range() if y.has_zero and y.low < 0 else reciprocal(y)
    ends = [product(a, b) for a in (x.low, x.high) for b in (over.low, over.high)]
    low, high = _span(ends)
    nan = x.nan or y.nan or (x.has_zero and y.has_zero) or (not x.finite and not y.finite)
    zero = x.zero if not (y.zero and y.zero.ordinary) else None
    finite = x.finite and not y.has_zero
    sinks = x.sinks if y.low > 0 else ""
    return Range(low, high, False, finite, nan, False, zero, sinks)


def floor_divide(x: Range, y: Range) -> Range:
    """Divide and round down."""
    made = divide(x, y)
    low = made.low if abs(made.low) == inf else floor(made.low)
    high = made.high if abs(made.high) == inf else floor(made.high)
    return Range(low, high, x.integer and y.integer, made.finite, made.nan)


def remainder(x: Range, y: Range) -> Range:
    """Return the remainder with the sign of the divisor, as Python and `jnp.mod` do."""
    nan = x.nan or y.nan or (not x.integer and y.has_zero) or not x.finite
    whole = x.integer and y.integer
    if whole and y.has_zero:
        return Range(integer=True, nan=nan)
    if y.low >= 0:
        top = y.high - 1 if whole else y.high
        if x.low >= 0:
            top = min(top, x.high)
        return Range(0.0, max(top, 0.0), whole, True, nan)
    if y.high <= 0:
        return Range(min(y.low + 1 if whole else y.low, 0.0), 0.0, whole, True, nan)
    return Range(y.low, y.high, whole, True, nan)


def truncated_remainder(x: Range, y: Range) -> Range:
    """Return the remainder with the sign of the dividend, as `lax.rem` and `jnp.fmod` do."""
    nan = x.nan or y.nan or (not x.integer and y.has_zero) or not x.finite
    whole = x.integer and y.integer
    reach = max(abs(y.low), abs(y.high))
    reach = max(reach - 1 if whole else reach, 0.0)
    if whole and y.has_zero:
        reach = inf
    low = 0.0 if x.low >= 0 else max(-reach, x.low)
    high = 0.0 if x.high <= 0 else min(reach, x.high)
    return Range(low, high, whole, True, nan)


def maximum(x: Range, y: Range) -> Range:
    """Return the larger of two ranges, elementwise."""
    low, high = max(x.low, y.low), max(x.high, y.high)
    nonzero = low > 0 or high < 0 or (x.nonzero and y.nonzero)
    up = _infinite(x, inf) or _infinite(y, inf)
    finite = not up and not (_infinite(x, -inf) and _infinite(y, -inf))
    zero = _floor_at_zero(x, y) or _floor_at_zero(y, x)
    return Range(low, high, x.integer and y.integer, finite, x.nan or y.nan, nonzero, zero)


def _floor_at_zero(x: Range, y: Range) -> Zero | None:
    """Return how the larger of something and zero becomes zero: for every negative input."""
    if y.constant != 0:
        return x.zero if x.zero and y.high <= 0 else None
    if x.low < 0:
        return Zero("`max(x, 0)` is 0 for every negative input", ordinary=True, assumed=x.low == -inf)
    return x.zero


def minimum(x: Range, y: Range) -> Range:
    """Return the smaller of two ranges, elementwise."""
    made = negative(maximum(negative(x), negative(y)))
    zero = x.zero if x.zero and y.low >= 0 else y.zero if y.zero and x.low >= 0 else None
    return made._replace(zero=zero, sinks=x.sinks or y.sinks)


def absolute(x: Range) -> Range:
    """Return the size of a range without its sign."""
    low = x.low if x.low > 0 else -x.high if x.high < 0 else 0.0
    return Range(low, max(abs(x.low), abs(x.high)), x.integer, x.finite, x.nan, not x.has_zero, x.zero)


def whole_power(x: Range, n: int) -> Range:
    """Raise a range to a constant whole power."""
    if n < 0:
        return reciprocal(whole_power(x, -n))._replace(finite=not x.has_zero)
    if n == 0:
        return Range(1.0, 1.0, x.integer, True, False, nonzero=True)
    if n == 1:
        return x
    if n == 2:
        return square(x)
    low, high = _raised(x.low, n), _raised(x.high, n)
    nonzero = not x.has_zero and x.integer
    if n % 2 == 0:
        inside = x.low <= 0 <= x.high
        low, high = 0.0 if inside else min(low, high), max(low, high)
    return Range(low, high, x.integer, x.finite, x.nan, nonzero, x.zero)


def _raised(end: float, n: float) -> float:
    try:
        return float(end**n)
    except OverflowError:
        return inf if end > 0 or n % 2 == 0 else -inf


def power(x: Range, y: Range) -> Range:
    """Raise a range to a power; the base decides the sign, and a negative one allows whole exponents alone."""
    exponent = y.constant
    if exponent is not None and y.integer and abs(exponent) <= 1000:
        return whole_power(x, int(exponent))
    if exponent == 0.5 and x.low >= 0:
        return Range(_root(x.low), _root(x.high), False, x.finite, x.nan, not x.has_zero, x.zero)
    nan = x.nan or y.nan or (x.low < 0 and not y.integer) or not x.finite or not y.finite
    finite = x.finite and (y.low >= 0 or not x.has_zero) and y.high < inf
    low = 0.0 if x.low >= 0 else -inf
    high = inf
    if x.low >= 0 and x.high <= 1 and y.low >= 0:
        high = 1.0
    elif x.low >= 0 and y.low >= 0 and x.high < inf and y.high <= 1000:
        high = max(_raised(x.high, y.high), 1.0)
    zero = x.zero if exponent is not None and exponent > 0 else None
    whole = x.integer and y.integer and y.low >= 0
    return Range(low, high, whole, finite and high < inf, nan, False, zero)


def _root(end: float) -> float:
    return end**0.5 if end >= 0 else 0.0


def monotone(function: Callable[[float], float], low: float, high: float) -> Callable[[Range], Range]:
    """Make the transfer function of a rising function whose values lie between two limits."""

    def run(x: Range) -> Range:
        return Range(_safely(function, x.low, low), _safely(function, x.high, high), False, True, x.nan)

    return run


def _safely(function: Callable[[float], float], end: float, limit: float) -> float:
    try:
        found = function(end)
    except (OverflowError, ValueError):
        return limit
    return limit if isnan(found) else found


def rounded(down: Callable[[float], int], up: Callable[[float], int]) -> Callable[[Range], Range]:
    """Make the transfer function of a function that rounds to whole numbers, for the low and the high end."""

    def run(x: Range) -> Range:
        low = x.low if abs(x.low) == inf else float(down(x.low))
        high = x.high if abs(x.high) == inf else float(up(x.high))
        return Range(low, high, True, x.finite, x.nan)

    return run


def scaled(x: Range, count: Range) -> Range:
    """Return the sum of as many elements as a range says; zero of them sum to zero."""
    low = min(product(x.low, count.low), product(x.low, count.high))
    high = max(product(x.high, count.low), product(x.high, count.high))
    nan = x.nan or clash(x, x)
    return Range(low, high, x.integer, x.finite, nan)
