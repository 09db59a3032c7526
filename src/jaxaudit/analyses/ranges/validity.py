"""Where functions have a finite value, and where a finite derivative.

Each row names the argument that matters, and says of a range whether all of it is safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf

from jaxaudit.analyses.ranges.facts import Range
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import LOGARITHMS, NORMS, SQUARE_ROOTS
from jaxaudit.ir.record import record

Test = Callable[[Range], bool]


@record
class Domain:
    """What a function wants of one argument."""

    safe: Test
    """All elements are fine."""
    wrong: Test
    """No element is fine."""
    bad_at_zero: str
    """What happens at zero; empty where zero is fine."""
    wants: str
    """For people: what the argument must be."""
    guarded: Test | None = None
    """Of the part that a condition lets through: it stops just short of a bad point, so that is what it is for."""


@record
class Use:
    """One argument of one op, and what is wanted of it."""

    op: Op
    function: str
    argument: Value
    domain: Domain


def _positive(x: Range) -> bool:
    return x.low > 0 or (x.low >= 0 and x.nonzero)


def _not_zero(x: Range) -> bool:
    return not x.has_zero


def _negative(x: Range) -> bool:
    return x.high < 0 or (x.high <= 0 and x.nonzero)


def _never(x: Range) -> bool:
    return False


def _within(low: float, high: float) -> Test:
    return lambda x: low <= x.low and x.high <= high


def _inside(low: float, high: float) -> Test:
    return lambda x: low < x.low and x.high < high


def _outside(low: float, high: float) -> Test:
    return lambda x: x.high < low or x.low > high


def _just_above(x: Range) -> bool:
    """Whether a condition with this bound keeps zero out, rather than asking for something else."""
    return _positive(x) and x.low <= (1.0 if x.integer else 1e-2)


def _from_zero(x: Range) -> bool:
    """Whether a condition with this bound keeps what is negative out, or zero too."""
    return 0 <= x.low <= 1e-2


def _around_zero(x: Range) -> bool:
    return not x.has_zero and (x.low <= 0 or _just_above(x))


def _up_to_one(x: Range) -> bool:
    return x.low >= -1 and 0.9 <= x.high <= 1


LOG = Domain(_positive, _negative, "the logarithm of 0 is -inf", "> 0")
ROOT = Domain(lambda x: x.low >= 0, _negative, "", ">= 0")
INVERSE_ROOT = Domain(_positive, _negative, "1 / sqrt(0) is inf", "> 0")
DIVISOR = Domain(_not_zero, _never, "dividing by 0 gives inf, or NaN for 0 / 0", "not 0", _around_zero)
UNIT = Domain(_within(-1.0, 1.0), _outside(-1.0, 1.0), "", "in [-1, 1]")
OPEN_UNIT = Domain(_inside(-1.0, 1.0), _outside(-1.0, 1.0), "", "inside (-1, 1)", _up_to_one)
FROM_ONE = Domain(_within(1.0, inf), _outside(1.0, inf), "", ">= 1")
ABOVE_MINUS_ONE = Domain(lambda x: x.low > -1, lambda x: x.high < -1, "", "> -1")

GROWTH = Domain(lambda x: x.high < 88.0, _never, "", "small enough not to overflow")

_VALUES: Mapping[str, Domain] = {
    "exp": GROWTH,
    **dict.fromkeys(LOGARITHMS, LOG),
    "log1p": ABOVE_MINUS_ONE,
    "sqrt": ROOT,
    "rsqrt": INVERSE_ROOT,
    "reciprocal": DIVISOR,
    **dict.fromkeys(("arccos", "arcsin"), UNIT),
    "arctanh": OPEN_UNIT,
    "arccosh": FROM_ONE,
}

_SLOPE_AT_ZERO = "the derivative at 0 is infinite"
_LOG_SLOPE = Domain(_not_zero, _never, _SLOPE_AT_ZERO, "not 0", _around_zero)
_ROOT_SLOPE = Domain(_positive, _negative, _SLOPE_AT_ZERO, "> 0", _just_above)
_POWER_SLOPE = Domain(_positive, _negative, "", "> 0", _from_zero)
_LENGTH_SLOPE = Domain(_not_zero, _never, "the derivative at the zero vector is NaN", "not 0", _around_zero)
_GROWTH = Domain(lambda x: x.high < 88.0, _never, "", "small enough not to overflow", lambda x: 20.0 <= x.high < 88.0)

_SLOPES: Mapping[str, Domain] = {
    **dict.fromkeys(LOGARITHMS, _LOG_SLOPE),
    "log1p": ABOVE_MINUS_ONE,
    **dict.fromkeys(SQUARE_ROOTS, _ROOT_SLOPE),
    "reciprocal": DIVISOR,
    **dict.fromkeys(("arccos", "arcsin", "arctanh"), OPEN_UNIT),
    "arccosh": Domain(lambda x: x.low > 1, _never, "", "> 1"),
    "exp": _GROWTH,
}


def values_wanted(op: Op) -> Iterator[Use]:
    """Return the arguments of an op that must lie in some domain for its value to be a number."""
    yield from _wanted(op, _VALUES, ROOT)


def slopes_wanted(op: Op) -> Iterator[Use]:
    """Return the arguments of an op that must lie in some domain for its derivative to be a number."""
    if op.name == "array.linalg" and op.function in NORMS and op.results and _has_root(op):
        yield Use(op, op.function, op.results[0], _LENGTH_SLOPE)
    yield from _wanted(op, _SLOPES, _ROOT_SLOPE)


def _has_root(op: Op) -> bool:
    """Whether a norm takes a root, or may: the sum of absolute values, the largest one and a count of them do not."""
    order = op.argument("ord")
    return isinstance(order, Value) or order in (None, "fro") or (isinstance(order, int | float) and 1 < order < inf)


def _wanted(op: Op, table: Mapping[str, Domain], root: Domain) -> Iterator[Use]:
    name, given = op.function, list(op.arguments.values()) or list(op.operands)
    if op.name != "array.map" or not given:
        return
    first, second, *_ = (*given, None)
    if name in table and isinstance(first, Value):
        yield Use(op, name, first, table[name])
    elif name == "divide" and isinstance(second, Value):
        yield Use(op, "division", second, DIVISOR)
    elif name == "power" and isinstance(first, Value) and isinstance(second, int | float):
        domain = _of_power(float(second), root)
        if domain is not None:
            yield Use(op, f"power {second:g}", first, domain)
    elif name == "power" and isinstance(first, Value) and table is _SLOPES:
        yield Use(op, "a power that need not be whole", first, _POWER_SLOPE)


def _of_power(exponent: float, root: Domain) -> Domain | None:
    whole = exponent == int(exponent)
    if exponent < 0:
        return DIVISOR if whole else INVERSE_ROOT
    return root if not whole and (exponent < 1 or root is ROOT) else None
