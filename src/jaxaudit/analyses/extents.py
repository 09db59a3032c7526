"""How far an index reaches where that is a size: from `randint(key, (), 0, n)`, `arange(n)`, a loop over `n` turns.

Ranges know numbers; this knows symbols. An extent holds for every element of an array of indices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from jaxaudit.analyses.dims import ONE, ZERO, Dim, same, variable
from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import Answers, behind
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, as_number, named
from jaxaudit.analyses.shapes.literals import literal
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import COUNTING, PICKED_POSITIONS, REORDERINGS
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import MOVING
from jaxaudit.ir.record import record

_ORDERS = PICKED_POSITIONS | {"argsort"}


@record
class Extent:
    """The whole numbers from `low` up to, but without, `end`."""

    low: Dim
    end: Dim
    source: Op
    """What makes them."""
    reached: bool = True
    """Whether the last of them surely occurs, or may do so by chance; False for a mere bound."""
    over: tuple[Value, int] | None = None
    """The array and the axis whose positions they are."""

    def moved(self, by: Dim) -> Extent:
        """Return the same numbers with another one added to each."""
        return replace(self, low=self.low + by, end=self.end + by, over=None)


Ask = Callable[[Value], Extent | None]


@remembered
def extents(facts: Facts) -> Ask:
    """Return how far the indices of a program reach; each is found out when it is asked for."""
    look = _Look(facts.get(Shapes), facts.flow)
    return Answers(look.answer, None)


def met(shapes: Shapes, op: Op, argument: Argument) -> ShapeFact:
    """Return what an op knows of one of its arguments, wherever it is met."""
    known = {context.of(argument) for context in shapes.contexts(op)} - {NOTHING}
    fact = known.pop() if len(known) == 1 else literal(argument, shapes.of)
    return named(fact, argument) if isinstance(argument, Value) else fact


def size_of(fact: ShapeFact, axis: int) -> Dim | None:
    """Return the size of an axis; of an array of unknown rank, the number that its own `shape` gives."""
    if fact.dims is not None:
        return fact.dims[axis] if -len(fact.dims) <= axis < len(fact.dims) else None
    return variable(f"{fact.symbol}.shape[{axis}]", "size", fact.born) if fact.symbol else None


class _Look:
    """Reads extents off the ops that make values."""

    def __init__(self, shapes: Shapes, flow: Flow) -> None:
        self._shapes = shapes
        self._flow = flow

    def answer(self, value: Value, ask: Ask) -> Extent | None:
        """Return how far one value reaches."""
        op = self._flow.maker(value)
        if op is None:
            return self._of_param(value, ask)
        rule = _RULES.get(op.name)
        if rule is not None and (found := rule(self, op, ask)) is not None:
            return found
        if op.name in MOVING and op.name != "array.move" and op.operands and op.arguments:
            first = next(iter(op.arguments.values()))
            return ask(first) if isinstance(first, Value) else None
        return None

    def number(self, argument: Argument) -> Dim | None:
        """Return the integer that an argument is."""
        fact = literal(argument, lambda value: named(self._shapes.of(value), value))
        number = None if argument is None or (fact.is_array and fact.number is None) else as_number(fact)
        return number if number is not None and number.known else None

    def _between(self, low: Argument, end: Argument, op: Op) -> Extent | None:
        return _extent(self.number(low), self.number(end), op)

    def _of_param(self, value: Value, ask: Ask) -> Extent | None:
        region = self._flow.places.owner.get(value)
        op = None if region is None else self._flow.places.holder.get(id(region))
        loop = None if op is None else Loop.of(op)
        if op is not None and op.name == "fori" and loop is not None and value is loop.counter:
            return self._between(op.operands[0], op.operands[1], op) if len(op.operands) > 1 else None
        sources = behind(self._flow, value)
        return ask(sources[0]) if len(sources) == 1 else None

    def counted(self, op: Op, ask: Ask) -> Extent | None:
        """`arange(n)`, `arange(first, n)`."""
        start, stop = op.arguments.get("start"), op.arguments.get("stop")
        if op.function not in COUNTING or op.arguments.get("step") not in (None, 1):
            return None
        return self._between(0, start, op) if stop is None else self._between(start, stop, op)

    def drawn(self, op: Op, ask: Ask) -> Extent | None:
        """`randint(key, shape, first, n)`, `permutation(key, n)`, `choice(key, n)`, `categorical(key, logits)`."""
        if op.function == "randint":
            return self._between(op.arguments.get("minval"), op.arguments.get("maxval"), op)
        if op.function == "categorical":
            return self._along(op, op.arguments.get("logits"), op.arguments.get("axis", -1))
        given = op.argument("x", "a") if op.function in REORDERINGS | {"choice"} else None
        if isinstance(given, Value) and (found := ask(given)) is not None:
            return found
        return None if given is None else _extent(ZERO, self.number(given), op)

    def ordered(self, op: Op, ask: Ask) -> Extent | None:
        """`argmax(x, axis)`, `argsort(x)`."""
        array, axis = op.argument("a", "operand"), op.arguments.get("axis")
        function = op.function
        axis = -1 if axis is None and function == "argsort" else axis
        return self._along(op, array, axis) if function in _ORDERS else None

    def _along(self, op: Op, array: Argument, axis: Argument) -> Extent | None:
        """Return the positions along an axis of an array."""
        if not isinstance(array, Value) or not isinstance(axis, int):
            return None
        found = _extent(ZERO, size_of(met(self._shapes, op, array), axis), op)
        return None if found is None else replace(found, over=(array, int(axis)), reached=False)

    def turned(self, op: Op, ask: Ask) -> Extent | None:
        """`for i in range(n)`, or the items of an array of indices."""
        bounds = op.arguments.get("iterable")
        if not isinstance(bounds, Mapping) or bounds.get("step") != 1:
            return None
        return self._between(bounds.get("start"), bounds.get("stop"), op)

    def computed(self, op: Op, ask: Ask) -> Extent | None:
        """`i + 1`, `i - 1`, `i % n`."""
        x, y = op.arguments.get("x"), op.arguments.get("y")
        if op.function == "remainder":
            found = _extent(ZERO, self.number(y), op)
            return None if found is None else replace(found, reached=False)
        if op.function == "add" and not isinstance(x, Value):
            x, y = y, x
        by, first = self.number(y), ask(x) if isinstance(x, Value) else None
        if op.function not in ("add", "subtract") or by is None or first is None:
            return None
        return first.moved(by if op.function == "add" else -by)

    def selected(self, op: Op, ask: Ask) -> Extent | None:
        """`clip(i, 0, n - 1)`, `where(c, i, j)` of one extent."""
        most = self.number(op.argument("max", "a_max"))
        if most is not None:
            low = self.number(op.argument("min", "a_min"))
            found = _extent(low, most + ONE, op)
            return None if found is None else replace(found, reached=False)
        sides = [ask(one) if isinstance(one, Value) else None for one in (op.arguments.get("x"), op.arguments.get("y"))]
        first, second = sides
        alike = first is not None and second is not None and same(first.end, second.end) and same(first.low, second.low)
        return first if alike else None


def _extent(low: Dim | None, end: Dim | None, op: Op) -> Extent | None:
    return None if low is None or end is None else Extent(low, end, op)


_RULES: Mapping[str, Callable[[_Look, Op, Ask], Extent | None]] = {
    "array.create": _Look.counted,
    "key.draw": _Look.drawn,
    "array.order": _Look.ordered,
    "py.element": _Look.turned,
    "array.map": _Look.computed,
    "array.select": _Look.selected,
}
