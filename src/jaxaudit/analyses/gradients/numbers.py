"""Code on numbers: what a body computes when every array in it has one element.

One element is a case like any other: sums and means leave it alone, a product of matrices is a product, and what only
moves elements does nothing. So a function and the rule for its derivative can be compared without running either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.ir import Argument, Op, Region, Value
from jaxaudit.ir.functions import IDENTITIES, ONE_BACK
from jaxaudit.ir.interfaces import Loop, inside_of
from jaxaudit.ir.ops import BODIES, MOVING

_ONE: Mapping[str, Callable[[float], float]] = {
    **{name: getattr(math, name) for name in "exp expm1 sqrt sin cos tan sinh cosh tanh erf erfc".split()},
    **{name: getattr(math, name) for name in "log log1p log2 log10 floor ceil trunc".split()},
    **{f"arc{name}": getattr(math, f"a{name}") for name in "sin cos tan sinh cosh tanh".split()},
    "abs": abs,
    "negative": lambda x: -x,
    "square": lambda x: x * x,
    "sign": lambda x: math.copysign(1.0, x),
    "reciprocal": lambda x: 1.0 / x,
    "rsqrt": lambda x: 1.0 / math.sqrt(x),
    "cbrt": math.cbrt,
    "round": round,
    "relu": lambda x: max(x, 0.0),
    "sigmoid": lambda x: 1.0 / (1.0 + math.exp(-x)),
    "softplus": lambda x: math.log1p(math.exp(x)),
    "log_sigmoid": lambda x: -math.log1p(math.exp(-x)),
    "silu": lambda x: x / (1.0 + math.exp(-x)),
    "lgamma": math.lgamma,
    "gammaln": math.lgamma,
    **dict.fromkeys(IDENTITIES, float),
}
_TWO: Mapping[str, Callable[[float, float], float]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "power": math.pow,
    "maximum": max,
    "minimum": min,
    "arctan2": math.atan2,
    "hypot": math.hypot,
    "logaddexp": lambda x, y: math.log(math.exp(x) + math.exp(y)),
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
}
_CREATED = {"zeros": 0.0, "zeros_like": 0.0, "ones": 1.0, "ones_like": 1.0}
_MOST = 20_000
"""How many values are computed before the rest is left open."""

Given = Mapping[Value, float]


class _OpenError(Exception):
    """Something is not known, or not defined for these numbers."""


class Numbers:
    """What the values of a body are, given numbers for what comes in."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._left = _MOST

    def of(self, value: Value, given: Given) -> float | None:
        """Return the number that a value is; None where that cannot be told."""
        self._left = _MOST
        try:
            found = self._of(value, dict(given))
        except (_OpenError, ArithmeticError, ValueError, RecursionError):
            return None
        return found if math.isfinite(found) else None

    def _of(self, value: Value, known: dict[Value, float]) -> float:
        if value not in known:
            op, given = self._flow.maker(value), self._flow.passed(value)
            self._left -= 1
            if (op is None and given is None) or self._left < 0:
                raise _OpenError
            if op is not None:
                known[value] = float(self._made(op, value, known))
            elif given is not None:
                known[value] = self._of(given, known)
        return known[value]

    def _read(self, argument: Argument, known: dict[Value, float]) -> float:
        if isinstance(argument, Value):
            return self._of(argument, known)
        if isinstance(argument, int | float):
            return float(argument)
        raise _OpenError

    def _made(self, op: Op, value: Value, known: dict[Value, float]) -> float:
        function = op.function
        if op.name in BODIES and op.name != "grad" and op.regions:
            region, inner = next(iter(inside_of(op, op.results.index(value))), (None, None))
            if region is None or inner is None or len(region.params) != len(op.operands):
                raise _OpenError
            given = {param: self._of(one, known) for param, one in zip(region.params, op.operands, strict=True)}
            return self._of(inner, _entered(region, known, given))
        if (loop := Loop.of(op)) is not None:
            return self._looped(loop, known)[op.results.index(value)]
        if op.name == "py.const":
            return self._read(op.constant if isinstance(op.constant, int | float) else None, known)
        if op.name in MOVING or op.name == "grad.stop" or (op.name == "array.reduce" and self._keeps(op)):
            return self._read(next(iter(op.arguments.values()), None), known)
        if op.name == "array.dot":
            return math.prod(self._of(one, known) for one in op.operands)
        if op.name == "array.create":
            fill = _CREATED.get(function)
            return self._read(op.argument("fill_value") if fill is None else fill, known)
        return self._elementwise(op, known)

    def _looped(self, loop: Loop, known: dict[Value, float]) -> list[float]:
        """Return what a loop gives that only carries something, turn after turn."""
        op, body, carried = loop.op, loop.body, loop.carried
        if loop.elements or len(body.results) != len(carried) or (op.trips is None and op.name != "while"):
            raise _OpenError
        state, turn = [self._of(one.start, known) for one in carried], 0
        while turn != op.trips and self._goes_on(loop, state, known):
            given = dict(zip((one.param for one in carried), state, strict=True))
            entered = _entered(body, known, given)
            state, turn = [self._of(one, entered) for one in body.results], turn + 1
            # A body that hands its carry on as it is would cost nothing.
            self._left -= 1
        return state

    def _goes_on(self, loop: Loop, state: list[float], known: dict[Value, float]) -> bool:
        if self._left < 0:
            raise _OpenError
        condition = loop.op.regions[0]
        if not loop.is_condition(condition):
            return True
        given = dict(zip((one.param for one in loop.carried_in(condition)), state, strict=True))
        return bool(self._of(condition.results[0], _entered(condition, known, given)))

    def _keeps(self, op: Op) -> bool:
        return op.function in ONE_BACK and not op.has("where") and not op.has("b")

    def _elementwise(self, op: Op, known: dict[Value, float]) -> float:
        function = op.function
        if op.name == "array.select" and function == "where":
            chosen = "x" if self._read(op.argument("condition"), known) else "y"
            return self._read(op.argument(chosen), known)
        if op.name == "array.select" and function == "clip":
            low, high = (op.argument(*names) for names in (("min", "a_min"), ("max", "a_max")))
            found = self._read(op.argument("arr", "a", "x"), known)
            found = found if low is None else max(found, self._read(low, known))
            return found if high is None else min(found, self._read(high, known))
        if op.name == "array.map" and function in _ONE and len(op.arguments) == 1:
            return _ONE[function](self._read(next(iter(op.arguments.values())), known))
        if op.name == "array.map" and function in _TWO and len(op.arguments) == 2:
            first, second = op.arguments.values()
            return _TWO[function](self._read(first, known), self._read(second, known))
        raise _OpenError


def _entered(region: Region, known: Mapping[Value, float], given: Mapping[Value, float]) -> dict[Value, float]:
    """Return what is known at the start of a body: what it computed in another call or turn is not."""
    made = {
        value for op in region.walk() for value in (*op.results, *(one for own in op.regions for one in own.params))
    }
    return {value: number for value, number in known.items() if value not in made} | dict(given)
