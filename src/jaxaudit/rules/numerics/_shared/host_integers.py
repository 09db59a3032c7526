"""Between which numbers the 64-bit integers lie that NumPy computes before they are given to JAX."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.ir import Argument, Op, Value

Bounds = tuple[float, float]
"""The least and the greatest number."""

_WIDE = frozenset("numpy.int64 numpy.int_ numpy.longlong int64 int builtins.int".split())
_HELD = frozenset(("asarray", "array", "full", "copy", "ascontiguousarray"))
_COMPUTED: dict[str, Callable[[float, float], float]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
}


def host_bounds(value: Argument, facts: Facts) -> Bounds | None:
    """Return the bounds of integers of NumPy; None where they are not known, or no integers of 64 bits."""
    if isinstance(value, Value):
        op = origin(facts.flow, value, {}).op
        return None if op is None else _made(op, facts)
    return None


def _made(op: Op, facts: Facts) -> Bounds | None:
    if op.name == "array.numpy" and (op.qualified in _WIDE or op.function in _HELD):
        wide = op.qualified in _WIDE or op.arguments.get("dtype") in (None, *_WIDE)
        given = op.argument("x", "a", "object", "fill_value")
        return _constants(given) or host_bounds(given, facts) if wide else None
    if op.name == "array.convert" and op.arguments.get("dtype") in _WIDE:
        found = facts.get(Ranges).of(op.operands[0]) if op.operands else None
        return (found.low, found.high) if found is not None and found.is_bounded else None
    if op.name == "array.map" and op.is_operator and op.function in _COMPUTED:
        return _computed(op, facts)
    return None


def _computed(op: Op, facts: Facts) -> Bounds | None:
    """Return the bounds of arithmetic of NumPy's integers, at least one of them, with each other or with constants."""
    sides = [_constants(one) or host_bounds(one, facts) for one in op.arguments.values()]
    if len(sides) != 2 or not any(isinstance(one, Value) for one in op.arguments.values()):
        return None
    first, second = sides
    if first is None or second is None:
        return None
    found = [_COMPUTED[op.function](x, y) for x, y in product(first, second)]
    return min(found), max(found)


def _constants(given: Argument) -> Bounds | None:
    """Return the bounds of integers that are written down."""
    parts = given if isinstance(given, tuple) else (given,)
    flat = [one for part in parts for one in (part if isinstance(part, tuple) else (part,))]
    numbers = [float(one) for one in flat if isinstance(one, int) and not isinstance(one, bool)]
    return (min(numbers), max(numbers)) if numbers and len(numbers) == len(flat) else None
