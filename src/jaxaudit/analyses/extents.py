"""How far an index reaches, and whether it gets there: `randint(key, (), 0, n)`, `64 * arange(n)`, a loop of `n` turns.

Ranges bound numbers; this knows symbols too, and which bounds are met. An extent holds for every element of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from jaxaudit.analyses.dims import ONE, ZERO, Dim, constant, same
from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.induction import induction
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import Answers, behind, nothing
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, as_number, named, outline_of
from jaxaudit.analyses.shapes.literals import literal
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import COUNTING, PICKED_POSITIONS, REORDERINGS, SUMS_OF_TWO
from jaxaudit.ir.interfaces import Loop, moved
from jaxaudit.ir.ops import SELECTED
from jaxaudit.ir.record import record
from jaxaudit.ir.values import leaves_nothing_out

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
    part: bool = False
    """Whether only some of them were picked, perhaps without the last."""

    @property
    def last(self) -> Dim:
        """The largest of them."""
        return self.end - ONE

    @property
    def single(self) -> Dim | None:
        """The one number that it is; None where there are more."""
        return self.low if same(self.low, self.last) else None

    def moved(self, by: Dim) -> Extent:
        """Return the same numbers with another one added to each."""
        return replace(self, low=self.low + by, end=self.end + by, over=None)

    def scaled(self, by: int) -> Extent:
        """Return multiples of the same numbers."""
        ends = self.low * constant(by), self.last * constant(by)
        low, last = ends if by >= 0 else reversed(ends)
        return replace(self, low=low, end=last + ONE, over=None)

    def divided(self, by: int) -> Extent | None:
        """Return the same numbers divided by a positive one and rounded down."""
        low, last = self.low.constant, self.last.constant
        if low is None or last is None or by <= 0:
            return None
        return replace(self, low=constant(low // by), end=constant(last // by + 1), over=None)

    def plus(self, other: Extent) -> Extent:
        """Return the sums of these and other numbers; each of two counters runs through all of its own."""
        if other.single is not None or self.single is not None:
            return self.moved(other.low) if other.single is not None else other.moved(self.low)
        reached = self.reached and other.reached and self.source is not other.source
        return replace(self, low=self.low + other.low, end=self.last + other.end, reached=reached, over=None)


Ask = Callable[[Value], Extent | None]


@remembered
def extents(facts: Facts) -> Ask:
    """Return how far the indices of a program reach; each is found out when it is asked for."""
    look = _Look(facts.get(Shapes), facts.get(Ranges), facts.flow)
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
    outline = outline_of(fact)
    return None if outline is None else outline.size(axis)


class _Look:
    """Reads extents off the ops that make values."""

    def __init__(self, shapes: Shapes, ranges: Ranges, flow: Flow) -> None:
        self._shapes = shapes
        self._ranges = ranges
        self._flow = flow

    def answer(self, value: Value, ask: Ask) -> Extent | None:
        """Return how far one value reaches."""
        op = self._flow.maker(value)
        if op is None:
            return self._of_param(value, ask)
        rule = _RULES.get(op.name)
        if rule is not None and (found := rule(self, op, ask)) is not None:
            return found
        loop = Loop.of(op)
        if loop is not None:
            return self._carried(loop, value, ask)
        if op.regions:
            return self._of_param(value, ask) if op.name in ("py.call", "jit") else None
        first = moved(op) if op.name != "array.move" else None
        found = None if first is None else ask(first)
        # Some of the elements need not have the last one among them; a loop over all of them does.
        part = op.name in SELECTED and op.name != "py.element" and not leaves_nothing_out(op.arguments.get("index", 0))
        return replace(found, reached=False, part=True) if found is not None and part else found

    def number(self, argument: Argument) -> Dim | None:
        """Return the integer that an argument is."""
        fact = literal(argument, lambda value: named(self._shapes.of(value), value))
        number = None if argument is None or (fact.is_array and fact.number is None) else as_number(fact)
        return number if number is not None and number.known else None

    def _between(self, low: Argument, end: Argument, op: Op) -> Extent | None:
        return _extent(self.number(low), self.number(end), op)

    def _range(self, start: Argument, stop: Argument, step: Argument, op: Op) -> Extent | None:
        """Return the numbers from one to another, upwards or downwards, or as far as the last whole step."""
        if step not in (None, 1, -1):
            return self._stepped(start, stop, step, op)
        found = self._between(start, stop, op) if step != -1 else self._between(stop, start, op)
        return found.moved(ONE) if found is not None and step == -1 else found

    def _stepped(self, start: Argument, stop: Argument, step: Argument, op: Op) -> Extent | None:
        """Return the numbers of `range(0, 100, 5)`, which ends at 95."""
        found, by = self._between(start, stop, op), self.number(step)
        low, last = (None, None) if found is None else (found.low.constant, found.last.constant)
        if by is None or by.constant is None or by.constant < 1 or low is None or last is None or last < low:
            return None
        return _extent(constant(low), constant(last - (last - low) % by.constant + 1), op)

    def _of_param(self, value: Value, ask: Ask) -> Extent | None:
        loop = self._flow.loop_of(value)
        if loop is not None and loop.op.name == "fori" and value is loop.counter:
            first, end, *_ = (*loop.op.operands, None, None)
            return None if first is None or end is None else self._between(first, end, loop.op)
        if loop is not None and any(value is one.param for one in loop.carried):
            return self._carried(loop, value, ask)
        sources = behind(self._flow, value, nothing)
        return ask(sources[0]) if len(sources) == 1 else None

    def _carried(self, loop: Loop, value: Value, ask: Ask) -> Extent | None:
        """Return how far a loop moves on what it carries: in its turns, or once it is over."""
        found = induction(loop, value, self._flow, self._shapes, self.number)
        by = None if found is None else found.step.constant
        start = None if found is None else self.reach(found.carried.start, ask, loop.op)
        if found is None or start is None or not by:
            return None
        way = found.step * (found.turns if value is not found.carried.param else found.turns - ONE)
        low, end = (start.low, start.end + way) if by > 0 else (start.low + way, start.end)
        if value is not found.carried.param:
            low, end = start.low + way, start.end + way
        return Extent(low, end, loop.op, start.reached and found.surely)

    def reach(self, argument: Argument, ask: Ask, op: Op) -> Extent | None:
        """Return how far an argument of an op reaches: a number is all that it reaches."""
        found = ask(argument) if isinstance(argument, Value) else None
        number = self.number(argument) if found is None else None
        if found is None and number is None and isinstance(argument, Value):
            known = self._ranges.of(argument)
            number = constant(int(known.low)) if known.integer and known.constant is not None else None
        return found if number is None else Extent(number, number + ONE, op)

    def counted(self, op: Op, ask: Ask) -> Extent | None:
        """`arange(n)`, `arange(first, n)`."""
        start, stop, shape = (op.arguments.get(name) for name in ("start", "stop", "shape"))
        if op.function in COUNTING and isinstance(shape, tuple):
            axis = op.arguments.get("dimension", 0)
            return self._between(0, shape[axis], op) if isinstance(axis, int) and axis < len(shape) else None
        if op.function not in COUNTING:
            return None
        return self._between(0, start, op) if stop is None else self._range(start, stop, op.arguments.get("step"), op)

    def held(self, op: Op, ask: Ask) -> Extent | None:
        """The numbers of an array that a trace has captured."""
        if not isinstance(op.extent, tuple):
            return None
        low, high = op.extent
        return _extent(constant(low), constant(high + 1), op)

    def drawn(self, op: Op, ask: Ask) -> Extent | None:
        """`randint(key, shape, first, n)`, `permutation(key, n)`, `choice(key, n)`, `categorical(key, logits)`."""
        if op.function == "randint":
            # A trace has what is beside the key and the shape in the order of the call.
            traced = op.arguments.get("operands")
            low, end = traced if isinstance(traced, tuple) and len(traced) == 2 else (None, None)
            return self._between(op.arguments.get("minval", low), op.arguments.get("maxval", end), op)
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
        if not isinstance(bounds, Mapping):
            return None
        return self._range(bounds.get("start"), bounds.get("stop"), bounds.get("step"), op)

    def computed(self, op: Op, ask: Ask) -> Extent | None:
        """`i + 1`, `n - i`, `64 * i`, `i // 3`, `i % n`, `i + j`."""
        if op.function == "remainder":
            found = _extent(ZERO, self.number(op.arguments.get("y")), op)
            return None if found is None else replace(found, reached=False)
        given = [self.reach(one, ask, op) for one in op.arguments.values()]
        x, y = (*given, None, None)[:2]
        if x is None or all(one is None or one.single is not None for one in given):
            return None
        if y is None:
            return x.scaled(-1) if op.function == "negative" else None
        if op.function in SUMS_OF_TWO:
            return x.plus(y if op.function == "add" else y.scaled(-1))
        by, scaled = (y.single, x) if y.single is not None else (x.single, y)
        if by is None or by.constant is None:
            return None
        if op.function == "multiply":
            return scaled.scaled(by.constant)
        return x.divided(by.constant) if op.function == "floor_divide" and scaled is x else None

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
    "py.const": _Look.held,
    "key.draw": _Look.drawn,
    "array.order": _Look.ordered,
    "py.element": _Look.turned,
    "array.map": _Look.computed,
    "array.select": _Look.selected,
}
