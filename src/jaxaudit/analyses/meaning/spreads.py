"""In which form a value tells how far something spreads: a standard deviation, a variance, or the logarithm of either.

Nothing tells it by itself; what reads the value does. Noise is multiplied by a standard deviation, `scale` of a normal
distribution is one, and a density or a divergence has the spread and its logarithm side by side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.elements import whole_of
from jaxaudit.analyses.lineage.origins import Context, contexts, origin, part_of
from jaxaudit.analyses.lineage.products import Product, Products, Sums, is_whole_sum
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import AVERAGES, BOUNDS, NORMAL_DRAWS, SPREADS, SQUARES, SUMS_OF_TWO
from jaxaudit.ir.interfaces import moved
from jaxaudit.ir.ops import COMPUTED, ELEMENTWISE, KEEPING
from jaxaudit.ir.record import record, replace
from jaxaudit.libraries.meanings import SPREADS_TAKEN
from jaxaudit.spans import Span

_SMALL = 0.01
"""What is added to keep a divisor away from zero."""
_CLOSE = 1e-6
_POWERS = {"sqrt": 0.5, "rsqrt": -0.5, "square": 2.0, "reciprocal": -1.0, "negative": 1.0, "positive": 1.0}
"""The power that each function makes of its operand, but for the sign."""
_MOST = 64
"""How many factors a part of a density has at most."""

Home = tuple[object, ...]
"""What a value is, wherever it is read: as it was made, and the calls of helpers that tell two of them apart."""


@record
class Form:
    """A power of a standard deviation, or so many times its logarithm."""

    degree: float
    log: bool = False

    def __str__(self) -> str:
        name = {1.0: "standard deviation", 2.0: "variance", -1.0: "inverse of a standard deviation", -2.0: "precision"}
        words = name.get(self.degree, f"standard deviation to the power of {self.degree:g}")
        return f"the logarithm of a {words}" if self.log else f"a {words}"


@record
class Power:
    """A value as a power of another one, or as the exponential of a multiple of it."""

    value: Value
    context: Context
    exponent: float
    log: bool
    name: str = ""
    """What it is called near to where it was made."""


@record
class Reading:
    """A place that takes a value for a spread in one form."""

    home: Home
    value: Value
    name: str
    form: Form
    op: Op
    how: str
    way: tuple[Op, ...]
    """The calls that it was handed through, innermost first."""


def readings(flow: Flow) -> Iterator[Reading]:
    """Return every place of a program that takes a value for a spread, with the form that it takes it for."""
    for op in flow.program.named("array.map", "py.call_library", "key.draw"):
        if op.backward or op.is_derived:
            continue
        for value, degree, how in (*_given(op), *_with_noise(flow, op), *_normalising(flow, op)):
            for context in contexts(flow, op):
                power = Reader(flow, context).power(value)
                if power is not None and power.exponent:
                    yield from _made(flow, power, context)
                    yield _reading(flow, power, degree, op, how, context)
        for one, context in densities(flow, op):
            if one.fits:
                power = replace(one.base, exponent=abs(one.exponent))
                how = "a density or divergence has it squared beside its logarithm"
                yield _reading(flow, power, 2.0, op, how, context)


def _reading(flow: Flow, power: Power, degree: float, op: Op, how: str, context: Context) -> Reading:
    form = Form(degree / power.exponent, power.log)
    way = tuple(_way(flow, power.value, op, context))
    return Reading(_home(flow, power, context), power.value, power.name, form, op, how, way)


def _made(flow: Flow, power: Power, context: Context) -> Iterator[Reading]:
    """Return what a value was made to be, where it is the spread of data."""
    op = flow.maker(power.value)
    if op is not None and op.name == "array.reduce" and op.function in SPREADS and not power.log:
        form = Form(2.0 if op.function.endswith("var") else 1.0)
        home, how = _home(flow, power, context), f"`{op.function}` gives {form}"
        yield Reading(home, power.value, power.name, form, op, how, ())


def _way(flow: Flow, value: Value, op: Op, context: Context) -> Iterator[Op]:
    """Return the calls that a value was handed through to where it is read, innermost first."""
    home = flow.places.region_of_value(value)
    around = set() if home is None else {id(region) for region, _ in flow.places.up(home)}
    region = flow.places.region_of[op]
    while id(region) not in around:
        call = flow.places.holder.get(id(region)) or context.get(id(region))
        if call is None:
            return
        yield call
        region = flow.places.region_of[call]


def _home(flow: Flow, power: Power, outside: Context) -> Home:
    """Return what a value is, be it read after another call of the function that gives it beside others.

    A network gives a mean and a spread in each call. A helper that gives one value may give either.
    """
    entered = [op for region, op in power.context.items() if region not in outside]
    several = max((at for at, op in enumerate(entered) if len(op.results) > 1), default=-1)
    helpers = tuple(op for op in entered[several + 1 :] if not op.regions or op.regions[0].shared)
    value, *names = part_of(flow, power.value, power.context, each_element=True)
    made = _written(flow, value) if isinstance(value, Value) else (value,)
    return (*made, *names, *helpers)


def _written(flow: Flow, value: Value) -> tuple[object, ...]:
    """Return the place where a call that gives several values makes one of them: it is the same in every such call."""
    home, helpers = flow.places.region_of_value(value), list[Span]()
    for _, call in flow.places.up(home) if home is not None else ():
        if call is None or not call.in_place:
            break
        if len(call.results) > 1:
            return value.span, *helpers
        helpers.append(call.span)
    return (value,)


def _given(op: Op) -> Iterator[tuple[Value, float, str]]:
    """Return what a distribution of a library takes for its spread."""
    parts = op.qualified.split(".")
    for name, value in op.arguments.items():
        for part in parts[-2:] if isinstance(value, Value) else ():
            degree = SPREADS_TAKEN.get(f"{part}.{name}")
            if degree is not None and isinstance(value, Value):
                yield value, degree, f"`{name}` of `{'.'.join(parts[-2:])}` takes {Form(degree)}"


def _with_noise(flow: Flow, op: Op) -> Iterator[tuple[Value, float, str]]:
    """Return what normal noise is multiplied by before it is added to something."""
    if op.name != "array.map" or op.function != "multiply" or len(op.operands) != 2:
        return
    added = any(reader.function in SUMS_OF_TWO for reader in flow.readers.get(op.result, ()))
    for noise, other in (op.operands, op.operands[::-1]):
        made = origin(flow, noise, {}, each_element=True).op
        if added and made is not None and made.name == "key.draw" and made.function in NORMAL_DRAWS:
            yield other, 1.0, "normal noise is multiplied by a standard deviation"


def _normalising(flow: Flow, op: Op) -> Iterator[tuple[Value, float, str]]:
    """Return what data less their own mean are divided by."""
    x, y = op.value("x"), op.value("y")
    if op.name != "array.map" or op.function != "divide" or x is None or y is None:
        return
    difference = flow.maker(whole_of(flow, x))
    sides = () if difference is None or difference.function != "subtract" else difference.operands
    if len(sides) != 2 or any(one.function == "multiply" for one in flow.readers.get(op.result, ())):
        # `(x - mean) / var * (x - mean)` is a distance, and a score weighs something.
        return
    data, centre = (whole_of(flow, one) for one in sides)
    made = flow.maker(centre)
    own = made.value("a") if made is not None and made.function in AVERAGES else None
    if own is not None and whole_of(flow, own) is data:
        yield y, 1.0, "data less their mean are divided by a standard deviation"


@record
class Density:
    """A sum that has a power of a spread beside its logarithm."""

    base: Power
    exponent: float
    weight: float
    """That of the power."""
    log_weight: float
    whole: bool
    """Whether the rest of a density or divergence is there too, so that it can be nothing else."""

    @property
    def wanted(self) -> float:
        """The weight of the logarithm with which the sum is least where the spread is right."""
        return -self.weight * self.exponent

    @property
    def fits(self) -> bool:
        """Whether both parts come with weights that fit."""
        return math.isclose(self.log_weight, self.wanted, rel_tol=_CLOSE)


def densities(flow: Flow, op: Op) -> Sequence[tuple[Density, Context]]:
    """Return the spreads of a sum that stand in it beside their logarithms, with the calls that lead there.

    That is a density or a divergence. What is part of a longer sum has none of its own.
    """
    if not is_whole_sum(flow, op):
        return ()
    known = flow.table(densities)
    if op not in known:
        known[op] = [(one, context) for context in contexts(flow, op) for one in _densities(flow, op, context)]
    return known[op]


def _densities(flow: Flow, op: Op, context: Context) -> Iterator[Density]:
    reader = Reader(flow, context)
    parts = reader.sums.products(op.result)
    bases = [(part, found) for part in parts if (found := reader.logarithm(part)) is not None]
    powers = [[one for factor in part.factors for one in islice(reader.powers(factor), _MOST)] for part in parts]
    # Of few sums both are of one kind, which is told sooner than whether they are one value.
    kinds = {one.log for found in powers for one in found}
    logs = [(part, base, _home(flow, base, context)) for part, base in bases if base.log in kinds]
    kinds = {base.log for _, base, _ in logs}
    for part, own_powers in zip(parts, powers, strict=True) if logs else ():
        found = [(power, _home(flow, power, context)) for power in own_powers if power.log in kinds]
        for logarithm, base, home in logs:
            exponent = sum(power.exponent for power, own in found if power.log is base.log and own == home)
            if part is not logarithm and exponent:
                weight = part.coefficient * math.prod(map(reader.scale, part.factors))
                whole = _is_whole(reader, part, parts, base.value)
                yield Density(base, exponent, weight, logarithm.coefficient, whole)


def _is_whole(reader: Reader, part: Product, parts: Products, spread: Value) -> bool:
    """Whether a sum has what only a normal density, or the divergence of two, has: `log(2 pi)`, or `mean**2 - 1`."""
    powers = [power for factor in part.factors for power in islice(reader.powers(factor), _MOST)]
    others = [reader.flow.maker(one.value) for one in powers if not one.log and one.value is not spread]
    if any(op is not None and op.name in COMPUTED - {"array.map"} for op in others):
        # What was summed over several numbers comes with as many logarithms.
        return False
    numbers = sum(one.coefficient for one in parts if not one.factors)
    alike = [one for one in parts if one.coefficient == part.coefficient and one is not part]
    divergence = len(part.factors) == 1 and numbers == -part.coefficient
    makers = [(one, reader.sums.maker(factor)) for one in parts if len(one.factors) == 1 for factor in one.factors]
    if any(op is not None and op.function == "log" and not op.operands for _, op in makers):
        # Beside `log(2 pi)` the spread divides the square of a distance: a product with noise is a sample.
        return any(sum(one.exponent for one in powers if one.value is of.value) == 2.0 for of in powers)
    squares = [one for one, op in makers if op is not None and op.function in SQUARES]
    return divergence and any(one in squares for one in alike)


class Reader:
    """Reads values as powers of others, in one context."""

    def __init__(self, flow: Flow, context: Context) -> None:
        self.flow = flow
        self.context = context
        self.sums = Sums.of(flow, context)

    def power(self, value: Value) -> Power | None:
        """Return what a value is a power or an exponential of; None where it is a product of several."""
        found = list(islice(self.powers(value), 2))
        return found[0] if len(found) == 1 else None

    def powers(self, value: Value, exponent: float = 1.0, context: Context | None = None) -> Iterator[Power]:
        """Return the powers that a value is a product of; numbers are left out."""
        found = origin(self.flow, value, self.context if context is None else context, each_element=True)
        op, calls = found.op, found.context
        below = None if op is None else self._below(op)
        if op is not None and op.function == "exp" and op.operands:
            yield from self._exponential(op.operands[0], exponent, calls)
        elif below is None or op is None:
            yield Power(found.value, calls, exponent, log=False, name=found.name)
        else:
            for one, times in below:
                yield from self.powers(one, exponent * times, calls)

    def scale(self, value: Value, context: Context | None = None) -> float:
        """Return the number that a product of powers has in front."""
        found = origin(self.flow, value, self.context if context is None else context, each_element=True)
        below = None if found.op is None or found.op.function == "exp" else self._below(found.op)
        total = 1.0 if below is None or found.op is None else _in_front(found.op)
        for one, times in below or ():
            inner = self.scale(one, found.context)
            total *= inner**times if inner > 0 or times == int(times) else math.nan
        return total

    def _below(self, op: Op) -> list[tuple[Value, float]] | None:
        """Return what a value is a product of powers of."""
        whole = moved(op, KEEPING)
        if whole is not None:
            return [(whole, 1.0)]
        x, y = op.argument("x", "a", "arr", "base"), op.argument("y", "exp")
        if op.name not in ELEMENTWISE or not op.operands:
            return None
        if op.function in _POWERS:
            return [(op.operands[0], _POWERS[op.function])]
        match op.function:
            case "multiply":
                return [(one, 1.0) for one in (x, y) if isinstance(one, Value)]
            case "divide":
                return [(one, sign) for one, sign in ((x, 1.0), (y, -1.0)) if isinstance(one, Value)]
            case "power" if isinstance(x, Value) and isinstance(y, int | float):
                return [(x, float(y))]
            case "add" if any(isinstance(one, float) and abs(one) <= _SMALL for one in (x, y)):
                return [(op.operands[0], 1.0)]
            case name if name in BOUNDS and len(op.operands) == 1:
                return [(op.operands[0], 1.0)]
            case _:
                return None

    def _exponential(self, value: Value, exponent: float, context: Context) -> Iterator[Power]:
        base = self.multiple(value, context)
        yield replace(base, exponent=exponent * base.exponent)

    def multiple(self, value: Value, context: Context) -> Power:
        """Return what the exponential of a value is one of: before factors, bounds and reshapes."""
        times, name = 1.0, value.name
        while True:
            found = origin(self.flow, value, context, each_element=True)
            value, context, op, name = found.value, found.context, found.op, found.name or name
            whole = moved(op, KEEPING)
            if op is None or not op.operands:
                return Power(value, context, times, log=True, name=name)
            x, y = op.arguments.get("x"), op.arguments.get("y")
            if whole is not None:
                value = whole
            elif op.function == "negative" or (op.function in BOUNDS and len(op.operands) == 1):
                value, times = op.operands[0], -times if op.function == "negative" else times
            elif (
                op.function == "multiply" and len(op.operands) == 1 and isinstance(number := _number(x, y), int | float)
            ):
                value, times = op.operands[0], times * number
            elif op.function == "divide" and isinstance(x, Value) and isinstance(y, int | float) and y:
                value, times = x, times / y
            else:
                return Power(value, context, times, log=True, name=name)

    def logarithm(self, part: Product) -> Power | None:
        """Return the spread whose logarithm a part of a sum is, once; a value that stands for itself may be one."""
        if len(part.factors) != 1 or part.masks:
            return None
        found = origin(self.flow, part.factors[0], self.context, each_element=True)
        if found.op is not None and found.op.function == "log" and found.op.operands:
            power = next(iter(Reader(self.flow, found.context).powers(found.op.operands[0])), None)
            return None if power is None or power.log or power.exponent != 1.0 else power
        base = self.multiple(part.factors[0], self.context)
        return base if base.exponent == 1.0 else None


def _in_front(op: Op) -> float:
    """Return the number that an op multiplies its operands by."""
    x, y = (one if isinstance(one, int | float) else 1.0 for one in (op.argument("x"), op.argument("y")))
    match op.function:
        case "multiply":
            return float(x * y)
        case "divide":
            return float(x / y) if y else math.nan
        case "negative":
            return -1.0
        case _:
            return 1.0


def _number(x: object, y: object) -> float | None:
    return next((float(one) for one in (x, y) if isinstance(one, int | float)), None)
