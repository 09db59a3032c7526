"""A value as a sum of products, read off the ops that made it.

Calls, conversions and reshapes are looked through. What is no sum and no product is a factor; so is `1 - x`, because
people write masks that way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import field
from functools import partial
from math import isclose

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import Context, outside_of_call
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import SUMS_OF_TWO, ZEROS
from jaxaudit.ir.interfaces import Call
from jaxaudit.ir.ops import BODIES, PASSED_ON, REARRANGED
from jaxaudit.ir.record import mutable, record, replace

_CARRIED = PASSED_ON | REARRANGED - {"array.permute"}
_MOST = 16
"""How many parts a sum may have, so how deep sums may stand in each other; a longer one is a single factor."""


@record
class Product:
    """One part of a sum."""

    coefficient: float
    factors: tuple[Value, ...]
    masks: tuple[Value, ...] = ()
    """The conditions that decide whether it counts."""
    unless: tuple[Value, ...] = ()
    """Those of them under which it does not."""

    def times(self, other: Product) -> Product:
        """Multiply two products."""
        factors, masks = (*self.factors, *other.factors), (*self.masks, *other.masks)
        return Product(self.coefficient * other.coefficient, factors, masks, (*self.unless, *other.unless))


Products = tuple[Product, ...]


@record
class Ratio:
    """One part of a sum, with what it is divided by."""

    above: Product
    divisors: tuple[Value, ...] = ()

    def is_like(self, other: Ratio) -> bool:
        """Whether two parts are the same number, in whatever order they are written."""
        one, two = self.above, other.above
        alike = Counter(one.factors) == Counter(two.factors) and Counter(self.divisors) == Counter(other.divisors)
        masked = (set(one.masks), set(one.unless)) == (set(two.masks), set(two.unless))
        return alike and masked and isclose(one.coefficient, two.coefficient)


def is_whole_sum(flow: Flow, op: Op) -> bool:
    """Whether an op gives a sum that is no part of a longer one."""
    if op.name != "array.map" or op.function not in SUMS_OF_TWO or op.backward or op.is_derived:
        return False
    return not any(one.function in SUMS_OF_TWO for one in flow.readers.get(op.result, ()))


@mutable
class Sums:
    """Takes values of one program apart, in one context."""

    flow: Flow
    context: Context
    _known: dict[Value, tuple[Products, int]] = field(default_factory=dict)
    """The parts of a value, and how deep sums stand in each other there: two operands often lead to the same one."""
    _cut: dict[tuple[Value, int], Products] = field(default_factory=dict)
    """The parts of a value at some depth, where sums in each other are too many from there on."""
    _deepest: int = 0
    """How deep the sums stand that were met in the value that is being taken apart."""
    _sources: dict[Value, Value] = field(default_factory=dict)

    @classmethod
    def of(cls, flow: Flow, context: Context) -> Sums:
        """Return the one for a context, which everybody shares."""
        known, key = flow.table(cls.of), frozenset(context.items())
        if key not in known:
            known[key] = cls(flow, dict(context))
        return known[key]

    def source(self, value: Value) -> Value:
        """Return the value that another one is, or is the elements of, outside of calls and before conversions."""
        found = self._sources.get(value)
        if found is None:
            found = self._sources[value] = self._source(value)
        return found

    def _source(self, value: Value) -> Value:
        calls, makers = self.context, self.flow.places.maker
        crossed: set[tuple[Value, Op | None]] = set()
        while True:
            op = makers.get(value)
            if op is None:
                below = outside_of_call(self.flow, value, calls)
            elif op.name in _CARRIED:
                below = op.operands[0] if op.operands else None
            elif op.name in BODIES and op.regions:
                calls = {**calls, id(op.regions[0]): op}
                below = Call(op).inside(self.flow.position(op.results, value))
            else:
                return value
            if below is None or (below, op) in crossed:
                return value
            crossed.add((below, op))
            value = below

    def maker(self, value: Value) -> Op | None:
        """Return the op that really made a value."""
        return self.flow.maker(self.source(value))

    def number(self, given: Argument) -> float | None:
        """Return the number that an argument is."""
        return _written(self.maker(given)) if isinstance(given, Value) else _as_float(given)

    def products(self, given: Argument, depth: int = 0) -> Products:
        """Return the parts of a sum; something that is none has one part."""
        value = self.source(given) if isinstance(given, Value) else None
        op = None if value is None else self.flow.maker(value)
        number = _as_float(given) if value is None else _written(op)
        if number is not None:
            return (Product(number, ()),) if number else ()
        if value is None:
            return (Product(float("nan"), ()),)
        known, height = self._known.get(value, (None, 0))
        if known is None or depth + height > _MOST:
            known = self._cut.get((value, depth))
            height = _MOST + 1
        if known is None:
            return self._taken_apart(value, op, depth)
        self._deepest = max(self._deepest, depth + height)
        return known

    def _taken_apart(self, value: Value, op: Op | None, depth: int) -> Products:
        """Find the parts of a value; those that are not cut short are the same wherever it stands."""
        around, self._deepest = self._deepest, depth
        parts = None if op is None or depth > _MOST else self._parts(op, partial(self.products, depth=depth + 1))
        found = (Product(1.0, (value,)),) if parts is None or len(parts) > _MOST else parts
        if self._deepest > _MOST:
            self._cut[value, depth] = found
        else:
            self._known[value] = found, self._deepest - depth
        self._deepest = max(around, self._deepest)
        return found

    def ratios(self, given: Argument) -> tuple[Ratio, ...]:
        """Return the parts of a sum with their divisors apart; what is divided by a sum is one factor."""
        return tuple(self._ratio(one) for one in self.products(given))

    def _ratio(self, part: Product) -> Ratio:
        coefficient, factors, divisors = part.coefficient, list[Value](), list[Value]()
        pending = [(one, False) for one in part.factors]
        for one, below in pending:
            op = self.flow.maker(one)
            divided = op is not None and op.name == "array.map" and op.function == "divide"
            sides = [self.products(op.arguments.get(name)) for name in "xy"] if divided and op is not None else []
            if len(sides) != 2 or any(len(side) != 1 or side[0].masks for side in sides) or not sides[1][0].coefficient:
                (divisors if below else factors).append(one)
                continue
            (above,), (under,) = sides
            scale = above.coefficient / under.coefficient
            coefficient *= 1.0 / scale if below and scale else scale
            pending += [*((more, below) for more in above.factors), *((more, not below) for more in under.factors)]
        return Ratio(replace(part, coefficient=coefficient, factors=tuple(factors)), tuple(divisors))

    def _parts(self, op: Op, products: Callable[[Argument], Products]) -> Products | None:
        if op.name == "array.select" and op.has("condition", "pred"):
            return self._chosen(op, products)
        if op.name != "array.map":
            return None
        x, y = op.arguments.get("x"), op.arguments.get("y")
        match op.function:
            case "add":
                return (*products(x), *products(y))
            case "subtract" if self.number(x) is None:
                return (*products(x), *_scaled(products(y), -1.0))
            case "negative":
                return _scaled(products(x), -1.0)
            case "multiply":
                return tuple(one.times(two) for one in products(x) for two in products(y))
            case "divide" if divisor := self.number(y):
                return _scaled(products(x), 1.0 / divisor)
            case _:
                return None

    def _chosen(self, op: Op, products: Callable[[Argument], Products]) -> Products | None:
        """A choice between two sums: each part counts where the condition says so, and an array of zeros nowhere."""
        condition = op.argument("condition", "pred")
        if not isinstance(condition, Value):
            return None
        mask = (self.source(condition),)
        yes, no = Product(1.0, (), mask), Product(1.0, (), mask, mask)
        arms = ((op.argument("x", "on_true"), yes), (op.argument("y", "on_false"), no))
        given = ((arm, where) for arm, where in arms if not (isinstance(arm, Value) and _is_zeros(self.maker(arm))))
        return tuple(part.times(where) for arm, where in given for part in products(arm))


def _written(op: Op | None) -> float | None:
    """Return the number that an op writes down."""
    return _as_float(op.constant) if op is not None and op.name == "py.const" else None


def _is_zeros(op: Op | None) -> bool:
    return op is not None and op.name == "array.create" and op.function in ZEROS


def _as_float(given: object) -> float | None:
    return float(given) if isinstance(given, int | float) else None


def _scaled(parts: Products, factor: float) -> Products:
    return tuple(replace(part, coefficient=part.coefficient * factor) for part in parts)
