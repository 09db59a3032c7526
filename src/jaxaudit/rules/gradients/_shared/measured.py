"""Rules for derivatives set against their functions on numbers, where every array has one element."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.ir import Argument, Op, Region, Value
from jaxaudit.ir.functions import IDENTITIES, ONE_BACK
from jaxaudit.ir.interfaces import Loop, inside_of
from jaxaudit.ir.ops import BODIES, CUSTOM_DERIVATIVES, MOVING
from jaxaudit.ir.record import record
from jaxaudit.ir.values import leaves_nothing_out

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
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
}
_CREATED = {"zeros": 0.0, "zeros_like": 0.0, "ones": 1.0, "ones_like": 1.0}
_MOST = 20_000
"""How many values are computed before the rest is left open."""
_Given = Mapping[Value, float]

_POINTS = ((0.31, 0.23), (0.47, 0.19), (0.83, -0.11))
"""The number for the first argument, and what is added for each further one."""
_STEP = 1e-4
_TOLERANCE = 0.02
_SAME = 1e-9
_NEAR = 1e-6


@record
class Sample:
    """What a rule gives at one point, and what the function says."""

    found: float
    wanted: float
    passes: bool = False
    """Whether the function gives that argument back, or the rule the incoming derivative, as it was."""

    @property
    def agrees(self) -> bool:
        """Whether both are the same, up to what keeps a quotient finite."""
        return abs(self.found - self.wanted) <= _TOLERANCE * max(abs(self.wanted), 0.1)


class Measured:
    """A call of a rule, and the call of its function that it stands beside."""

    def __init__(self, op: Op, facts: Facts) -> None:
        self._op, self._numbers = op, _Numbers(facts.flow)
        region = facts.places.region_of[op]
        before = region.ops[: region.ops.index(op)]
        beside = (one for one in reversed(before) if one.name in CUSTOM_DERIVATIVES and one.span == op.span)
        self._function = next(beside, None)
        self._outputs: tuple[Value, ...] = op.outputs if isinstance(op.outputs, tuple) else ()

    @property
    def _is_known(self) -> bool:
        function = self._function
        return function is not None and len(function.regions[0].results) == len(self._outputs) > 0

    def values(self) -> list[Sample]:
        """Return what the rule gives for the function's own value, with that value."""
        if not self._is_known:
            return []
        still = dict.fromkeys(self._op.cotangents or (), 0.0)
        found = (self._weighed(self._outputs, {**self._inside(point), **still}) for point in self._points())
        wanted = (self._own(point) for point in self._points())
        return [Sample(one, other) for one, other in zip(found, wanted, strict=True) if None not in (one, other)]  # type: ignore[arg-type]

    def derivatives(self, leaf: Value) -> list[Sample]:
        """Return what the rule gives for the derivative by one leaf of the arguments, with that derivative."""
        if not self._is_known or leaf not in self._op.regions[0].params:
            return []
        operand = self._op.operands[self._op.regions[0].params.index(leaf)]
        return [one for point in self._points() if (one := self._sample(point, operand, leaf)) is not None]

    def _sample(self, point: _Given, operand: Value, leaf: Value) -> Sample | None:
        sides = [self._own({**point, operand: point[operand] + step}) for step in (_STEP, -_STEP)]
        found, value = self._found(point, leaf), self._own(point)
        if found is None or value is None or None in sides:
            return None
        weight = self._weights()[0]
        passes = self._is_identity(point, operand, value / weight) or abs(found - weight) < _SAME
        return Sample(found, (sides[0] - sides[1]) / (2 * _STEP), passes)  # type: ignore[operator]

    def _is_identity(self, point: _Given, operand: Value, value: float) -> bool:
        """Whether a function gives an argument back as it was, and not only where it is positive, as a norm does."""
        other = self._own({**point, operand: -point[operand]})
        turned = other is None or abs(other / self._weights()[0] + point[operand]) < _NEAR
        return abs(value - point[operand]) < _NEAR and turned

    def _found(self, point: _Given, leaf: Value) -> float | None:
        gradients, primals, incoming = self._op.gradients or (), self._op.primals or (), self._op.cotangents or ()
        leaves = [one for part in primals for one in part]
        if self._op.role == "tangent":
            if len(leaves) != len(incoming) or len(gradients) != 1 or len(gradients[0]) != len(self._outputs):
                return None
            tangents = {one: float(at is leaf) for one, at in zip(incoming, leaves, strict=True)}
            return self._weighed(gradients[0], {**self._inside(point), **tangents})
        pairs = [pair for part, made in zip(primals, gradients, strict=False) for pair in _aligned(part, made)]
        made = next((found for one, found in pairs if one is leaf), None)
        if made is None or len(incoming) != len(self._outputs):
            return None
        cotangents = dict(zip(incoming, self._weights(), strict=True))
        return self._numbers.of(made, {**self._inside(point), **cotangents})

    def _points(self) -> Iterator[_Given]:
        for first, more in _POINTS:
            yield {one: first + more * at for at, one in enumerate(self._op.operands)}

    def _inside(self, point: _Given) -> dict[Value, float]:
        pairs = zip(self._op.regions[0].params, self._op.operands, strict=False)
        return {param: point[operand] for param, operand in pairs}

    def _own(self, point: _Given) -> float | None:
        """Return the weighed sum of what the function gives."""
        function = self._function
        if function is None or any(one not in point for one in function.operands):
            return None
        region = function.regions[0]
        given = {param: point[operand] for param, operand in zip(region.params, function.operands, strict=False)}
        return self._weighed(region.results, given)

    def _weighed(self, values: Sequence[Value], given: _Given) -> float | None:
        total = 0.0
        for value, weight in zip(values, self._weights(), strict=False):
            found = self._numbers.of(value, given)
            if found is None:
                return None
            total += weight * found
        return total

    def _weights(self) -> list[float]:
        return [0.7 + 0.4 * at for at in range(len(self._outputs))]


def _aligned(part: Sequence[Value], made: Sequence[Value] | None) -> Iterator[tuple[Value, Value]]:
    if made is not None and len(part) == len(made):
        yield from zip(part, made, strict=True)


class _OpenError(Exception):
    """Something is not known, or not defined for these numbers."""


class _Numbers:
    """What the values of a body are, given numbers for what comes in."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._left = _MOST

    def of(self, value: Value, given: _Given) -> float | None:
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
            if given is not None:
                known[value] = self._of(given, known)
            elif op is not None:
                known[value] = float(self._made(op, value, known))
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
        if op.name in MOVING or op.name == "grad.stop" or self._keeps(op):
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
        """Whether an op gives the one element back: a sum of it, or the array with other axes."""
        if op.name == "py.item":
            return leaves_nothing_out(op.arguments.get("index"))
        return op.name == "array.reduce" and op.function in ONE_BACK and not op.has("where") and not op.has("b")

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
