"""A value as a sum of products, read off the ops that made it.

Calls, conversions and reshapes are looked through. What is no sum and no product is a factor; so is `1 - x`, because
people write masks that way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import Context
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.ops import BODIES
from jaxaudit.ir.record import record

_LAYOUT = frozenset("array.convert array.reshape array.squeeze array.expand device.place grad.stop".split())
_STEPS = 64
_DEEPEST = 16
_MOST = 12


@record
class Product:
    """One part of a sum."""

    coefficient: float
    factors: tuple[Value, ...]
    masks: tuple[Value, ...] = ()
    """The conditions under which it counts."""

    def times(self, other: Product) -> Product:
        """Multiply two products."""
        factors, masks = (*self.factors, *other.factors), (*self.masks, *other.masks)
        return Product(self.coefficient * other.coefficient, factors, masks)


@dataclass(slots=True)
class Sums:
    """Takes values of one program apart, in one context."""

    flow: Flow
    context: Context
    _known: dict[tuple[Value, int], tuple[Product, ...]] = field(default_factory=dict)
    """The parts of a value at some depth: two operands often lead to the same one."""

    def source(self, value: Value) -> Value:
        """Return the value that another one is, or is the elements of, outside of calls and before conversions."""
        calls = self.context
        makers = self.flow.places.maker
        for _ in range(_STEPS):
            op = makers.get(value)
            if op is None:
                below = self._outside(value, calls)
            elif op.name in _LAYOUT:
                below = op.operands[0] if op.operands else None
            elif op.name in BODIES and op.regions:
                calls = {**calls, id(op.regions[0]): op}
                below = self._inside(op, value)
            else:
                break
            if below is None:
                break
            value = below
        return value

    def _outside(self, value: Value, calls: Context) -> Value | None:
        region = self.flow.places.owner.get(value)
        op = None if region is None else self.flow.places.holder.get(id(region)) or calls.get(id(region))
        if region is None or op is None or op.name not in BODIES or len(region.params) != len(op.operands):
            return None
        return op.operands[self.flow.position(region.params, value)]

    def _inside(self, op: Op, value: Value) -> Value | None:
        position, results = self.flow.position(op.results, value), op.regions[0].results
        return results[position] if position < len(results) else None

    def maker(self, value: Value) -> Op | None:
        """Return the op that really made a value."""
        return self.flow.maker(self.source(value))

    def number(self, given: Argument) -> float | None:
        """Return the number that an argument is."""
        return _written(self.maker(given)) if isinstance(given, Value) else _as_float(given)

    def products(self, given: Argument, depth: int = 0) -> tuple[Product, ...]:
        """Return the parts of a sum; something that is none has one part."""
        value = self.source(given) if isinstance(given, Value) else None
        op = None if value is None else self.flow.maker(value)
        number = _as_float(given) if value is None else _written(op)
        if number is not None:
            return (Product(number, ()),) if number else ()
        if value is None:
            return (Product(float("nan"), ()),)
        if (value, depth) not in self._known:
            parts = None if op is None or depth > _DEEPEST else self._parts(op, depth + 1)
            if parts is None or len(parts) > _MOST:
                parts = (Product(1.0, (value,)),)
            self._known[value, depth] = parts
        return self._known[value, depth]

    def _parts(self, op: Op, depth: int) -> tuple[Product, ...] | None:
        function = op.function
        if op.name == "array.select" and op.has("condition", "pred"):
            return self._chosen(op, depth)
        if op.name != "array.map":
            return None
        x, y = op.arguments.get("x"), op.arguments.get("y")
        match function:
            case "add":
                return (*self.products(x, depth), *self.products(y, depth))
            case "subtract" if self.number(x) is None:
                return (*self.products(x, depth), *_scaled(self.products(y, depth), -1.0))
            case "negative":
                return _scaled(self.products(x, depth), -1.0)
            case "multiply":
                return tuple(one.times(two) for one in self.products(x, depth) for two in self.products(y, depth))
            case "divide" | "true_divide" if divisor := self.number(y):
                return _scaled(self.products(x, depth), 1.0 / divisor)
            case _:
                return None

    def _chosen(self, op: Op, depth: int) -> tuple[Product, ...] | None:
        """A choice between two sums: each part counts where the condition says so."""
        condition = op.argument("condition", "pred")
        if not isinstance(condition, Value):
            return None
        mask = Product(1.0, (), (self.source(condition),))
        arms = (op.argument("x", "on_true"), op.argument("y", "on_false"))
        return tuple(part.times(mask) for arm in arms for part in self.products(arm, depth))


def _written(op: Op | None) -> float | None:
    """Return the number that an op writes down."""
    return _as_float(op.constant) if op is not None and op.name == "py.const" else None


def _as_float(given: object) -> float | None:
    return float(given) if isinstance(given, int | float) else None


def _scaled(parts: Iterable[Product], factor: float) -> tuple[Product, ...]:
    return tuple(replace(part, coefficient=part.coefficient * factor) for part in parts)
