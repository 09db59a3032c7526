"""Elementwise functions of one argument: the range of each from the range of its argument."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from math import inf, pi

from jaxaudit.analyses.ranges import arithmetic
from jaxaudit.analyses.ranges.arithmetic import monotone, rounded
from jaxaudit.analyses.ranges.facts import ANY, TRUTH, Range, Zero

Unary = Callable[[Range], Range]

_UNDERFLOWS = -80.0
"""Below this the exponential is close to zero in float32, and zero soon after."""
_OVERFLOWS = 88.0
_SMALLEST = 1e-37


def identity(x: Range) -> Range:
    """Return a value that is passed on."""
    return x


def _exponential(end: float) -> float:
    return 0.0 if end <= _UNDERFLOWS else inf if end >= _OVERFLOWS else math.exp(end)


def exp(x: Range) -> Range:
    """Return the exponential: never negative, zero where it underflows, infinite where it overflows."""
    low, high = _exponential(x.low), _exponential(x.high)
    zero = Zero(x.sinks, ordinary=True) if x.sinks else None
    return Range(low, high, False, x.high < _OVERFLOWS, x.nan, x.low > _UNDERFLOWS, zero, peak=x.peak)


def log(x: Range) -> Range:
    """Return the logarithm: NaN below zero, infinite at zero."""
    low = math.log(x.low) if x.low > 0 else -inf
    high = (math.log(x.high) if x.high > 0 else -inf) if x.high < inf else inf
    safe = x.low > 0 or (x.low >= 0 and x.nonzero)
    return Range(low, high, False, safe and x.finite, x.nan or x.low < 0, peak=x.peak)


def log1p(x: Range) -> Range:
    """Return log(1 + x)."""
    made = log(Range(x.low + 1, x.high + 1, False, x.finite, x.nan))
    return made._replace(nonzero=not x.has_zero and made.finite and abs(x.low) > _SMALLEST, zero=x.zero)


def sqrt(x: Range) -> Range:
    """Return the square root: NaN below zero."""
    low, high = (end**0.5 if end > 0 else 0.0 for end in (x.low, x.high))
    return Range(low, high, False, x.finite, x.nan or x.low < 0, not x.has_zero, x.zero)


def rsqrt(x: Range) -> Range:
    """Return one over the square root: infinite at zero."""
    made = arithmetic.reciprocal(sqrt(x))
    return made._replace(finite=x.low > 0 or (x.low >= 0 and x.nonzero), nan=x.nan or x.low < 0)


def relu(x: Range) -> Range:
    """Return the larger of a value and zero."""
    made = arithmetic.maximum(x, Range(0.0, 0.0, integer=True))
    zero = Zero("`relu` is 0 for every negative input", ordinary=True, blocks=True) if x.low < 0 else x.zero
    return made._replace(zero=zero)


def softplus(x: Range) -> Range:
    """Return log(1 + exp(x)): never negative, and zero where it underflows."""
    return Range(_softplus(x.low), _softplus(x.high), False, x.finite, x.nan, x.low > _UNDERFLOWS)


def _softplus(end: float) -> float:
    if end < _UNDERFLOWS:
        return 0.0
    return end if end > _OVERFLOWS else math.log1p(math.exp(end))


def _sigmoid(end: float) -> float:
    return 1.0 / (1.0 + math.exp(-end)) if end > -_OVERFLOWS else 0.0


def sigmoid(x: Range) -> Range:
    """Return the logistic function: between zero and one, ends included, since it rounds to them."""
    zero = Zero(x.sinks, ordinary=True) if x.sinks else None
    return Range(_sigmoid(x.low), _sigmoid(x.high), False, True, x.nan, x.low > _UNDERFLOWS, zero)


def _bounded(low: float, high: float) -> Unary:
    return lambda x: Range(low, high, False, True, x.nan or not x.finite)


def _rising(function: Callable[[float], float], low: float, high: float) -> Unary:
    run = monotone(function, low, high)
    return lambda x: run(x)._replace(zero=x.zero)


def _at_least(low: float) -> Unary:
    """Make the transfer function of an activation that is at least a number and at most its input or zero."""
    return lambda x: Range(max(low, min(x.low, 0.0)), max(x.high, 0.0), False, x.finite, x.nan)


def _within(low: float, high: float, function: Unary) -> Unary:
    """Make the transfer function of one that is defined between two ends and NaN outside."""

    def run(x: Range) -> Range:
        made = function(x)
        return made if low <= x.low and x.high <= high else made._replace(nan=True)

    return run


def sign(x: Range) -> Range:
    """Return the sign."""
    low, high = (float((end > 0) - (end < 0)) for end in (x.low, x.high))
    return Range(low, high, True, True, x.nan, x.nonzero, x.zero)


def logical_not(x: Range) -> Range:
    """Return the opposite of a truth value."""
    return TRUTH._replace(zero=Zero("the mask is 0 wherever its opposite holds", ordinary=True))


def _log_sigmoid(x: Range) -> Range:
    return Range(-_softplus(-x.low) if x.low > -inf else -inf, -_softplus(-x.high), False, x.finite, x.nan)


def _nan_to_num(x: Range) -> Range:
    return Range(min(x.low, 0.0), max(x.high, 0.0), x.integer) if x.nan else Range(x.low, x.high, x.integer)


def _angle(factor: float) -> Unary:
    return lambda x: arithmetic.multiply(x, Range(factor, factor, nonzero=True))


def _any(x: Range) -> Range:
    return Range(finite=x.finite, nan=x.nan)


def _log_of(factor: float) -> Unary:
    def run(x: Range) -> Range:
        made = log(x)
        return made._replace(low=made.low / factor, high=made.high / factor)

    return run


def _exp2(x: Range) -> Range:
    made = exp(arithmetic.multiply(x, Range(math.log(2), math.log(2))))
    return made._replace(nan=x.nan, zero=None)


def _each(names: str, function: Unary) -> dict[str, Unary]:
    return dict.fromkeys(names.split(), function)


_tanh = _rising(math.tanh, -1.0, 1.0)
_arctan = _rising(math.atan, -pi / 2, pi / 2)

UNARY: Mapping[str, Unary] = {
    **_each("positive identity real conj reduce_precision", identity),
    "abs": arithmetic.absolute,
    "negative": arithmetic.negative,
    "square": arithmetic.square,
    "reciprocal": lambda x: arithmetic.divide(Range(1.0, 1.0), x),
    "exp": exp,
    "exp2": _exp2,
    "expm1": lambda x: arithmetic.subtract(exp(x), Range(1.0, 1.0))._replace(zero=x.zero, sinks=""),
    "log": log,
    "log2": _log_of(math.log(2)),
    "log10": _log_of(math.log(10)),
    "log1p": log1p,
    "sqrt": sqrt,
    "rsqrt": rsqrt,
    "cbrt": lambda x: Range(0.0 if x.low >= 0 else -inf, 0.0 if x.high <= 0 else inf, False, x.finite, x.nan),
    "relu": relu,
    "relu6": lambda x: arithmetic.minimum(relu(x), Range(6.0, 6.0))._replace(zero=relu(x).zero),
    "softplus": softplus,
    "squareplus": lambda x: Range(max(x.low, 0.0), inf, False, x.finite, x.nan),
    "sparse_plus": relu,
    "sigmoid": sigmoid,
    **_each("hard_sigmoid sparse_sigmoid ndtr", _bounded(0.0, 1.0)),
    "tanh": _tanh,
    "hard_tanh": _rising(lambda end: max(-1.0, min(1.0, end)), -1.0, 1.0),
    "soft_sign": _bounded(-1.0, 1.0),
    "erf": _rising(math.erf, -1.0, 1.0),
    "erfc": _bounded(0.0, 2.0),
    "erfcx": lambda x: Range(0.0, inf, False, False, x.nan),
    "arctan": _arctan,
    "arccos": _within(-1.0, 1.0, _bounded(0.0, pi)),
    "arcsin": _within(-1.0, 1.0, _bounded(-pi / 2, pi / 2)),
    "arctanh": _within(-1.0, 1.0, lambda x: Range(finite=False, nan=x.nan)),
    "arccosh": _within(1.0, inf, lambda x: Range(0.0, inf, False, x.finite, x.nan)),
    "arcsinh": lambda x: Range(finite=x.finite, nan=x.nan, zero=x.zero),
    **_each("sin cos", _bounded(-1.0, 1.0)),
    "sinc": _bounded(-0.22, 1.0),
    "cosh": lambda x: Range(1.0, inf, False, False, x.nan),
    **_each("sinh tan", lambda x: Range(finite=False, nan=x.nan or not x.finite)),
    "sign": sign,
    "floor": rounded(math.floor, math.floor),
    **_each("fix trunc", rounded(math.trunc, math.trunc)),
    "ceil": rounded(math.ceil, math.ceil),
    "round": rounded(math.floor, math.ceil),
    "logical_not": logical_not,
    **_each("isnan isinf isfinite isneginf isposinf signbit isreal iscomplex all any isin in1d", lambda x: TRUTH),
    **_each("bitwise_count clz population_count", lambda x: Range(0.0, inf, integer=True)),
    **_each("silu hard_silu hard_swish", _at_least(-0.376)),
    "gelu": _at_least(-0.171),
    "mish": _at_least(-0.31),
    "elu": _any,
    "celu": _any,
    "selu": lambda x: Range(-1.759, inf, False, x.finite, x.nan),
    "leaky_relu": _any,
    "log_sigmoid": _log_sigmoid,
    "log1mexp": lambda x: Range(-inf, 0.0, False, False, True),
    "log_ndtr": lambda x: Range(-inf, 0.0, False, x.finite, x.nan),
    "nan_to_num": _nan_to_num,
    "deg2rad": _angle(pi / 180),
    "rad2deg": _angle(180 / pi),
    "one_minus_square": lambda x: arithmetic.subtract(Range(1.0, 1.0), arithmetic.square(x)),
    "invert": lambda x: Range(integer=True),
    "entr": lambda x: Range(-inf, 0.37, False, False, x.nan),
    **_each("bessel_i0e i0e", _bounded(0.0, 1.0)),
    **_each("bessel_i1e i1e", _bounded(-0.5, 0.5)),
    "i0": lambda x: Range(1.0, inf, False, False, x.nan),
    "imag": lambda x: ANY,
}
"""Every elementwise function of one argument whose range is known."""
