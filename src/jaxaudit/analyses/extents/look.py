"""How far an index reaches, and whether it gets there: `randint(key, (), 0, n)`, `64 * arange(n)`, a loop of `n` turns.

Ranges bound numbers; this knows symbols too, and which bounds are met. An extent holds for every element of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf

from jaxaudit.analyses.dims import ONE, ZERO, Dim, constant
from jaxaudit.analyses.extents.extent import Extent
from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.induction import induction
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import Answers, behind, nothing
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, as_number, named, outline_of
from jaxaudit.analyses.shapes.literals import literal
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import (
    COUNTING,
    LARGER,
    LOOKUPS,
    PICKED_POSITIONS,
    REORDERINGS,
    ROUNDED,
    SMALLER,
    SUMS_OF_TWO,
)
from jaxaudit.ir.interfaces import Loop, moved
from jaxaudit.ir.ops import SELECTED
from jaxaudit.ir.record import replace
from jaxaudit.ir.values import leaves_nothing_out

_ORDERS = PICKED_POSITIONS | {"argsort"}

Ask = Callable[[Value], Extent | None]


@remembered
def extents(facts: Facts) -> Ask:
    """Return how far the indices of a program reach; each is found out when it is asked for."""
    return Answers(look_at(facts).answer, None)


def look_at(facts: Facts) -> Look:
    """Return who reads extents and numbers off the ops of a program."""
    return Look(facts.get(Shapes), facts.get(Ranges), facts.flow)


def counts_from_end(select: Op, flow: Flow) -> bool:
    """Whether a choice is `where(i < 0, i + size, i)`, which JAX does to every index."""
    condition, kept = select.value("condition"), select.arguments.get("y")
    test = flow.maker(condition) if condition is not None else None
    return test is not None and test.function == "less" and kept in test.operands and test.arguments.get("y") == 0


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


class Look:
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
        part = part and found is not None and not found.each
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
            return self._renewed(loop, value, ask)
        way = found.step * (found.turns if value is not found.carried.param else found.turns - ONE)
        low, end = (start.low, start.end + way) if by > 0 else (start.low + way, start.end)
        if value is not found.carried.param:
            low, end = start.low + way, start.end + way
        return Extent(low, end, loop.op, start.reached and found.surely)

    def _renewed(self, loop: Loop, value: Value, ask: Ask) -> Extent | None:
        """Return how far what a loop carries reaches where each turn makes it anew: `at = (at + 1) % n`."""
        results = loop.op.results
        one = next((one for one in loop.carried if value is one.param or value in results[one.position :][:1]), None)
        following = None if one is None or one.position >= len(loop.body.results) else loop.body.results[one.position]
        start = None if one is None else self.reach(one.start, ask, loop.op)
        made = None if following is None or start is None else ask(following)
        return None if made is None or start is None or not made.each else start.joined(made)

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
        if op.function == "linspace" and op.arguments.get("endpoint", True) is True:
            # Rounded to whole numbers, the last of them is where it stops.
            found = self._between(start, stop, op)
            return None if found is None else replace(found, end=found.end + ONE)
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
            found = self._between(op.arguments.get("minval", low), op.arguments.get("maxval", end), op)
            return None if found is None else replace(found, each=True)
        if op.function == "categorical":
            return self._along(op, op.arguments.get("logits"), op.arguments.get("axis", -1))
        given = op.argument("x", "a") if op.function in REORDERINGS | {"choice"} else None
        if isinstance(given, Value) and (found := ask(given)) is not None:
            return found
        return None if given is None else _extent(ZERO, self.number(given), op)

    def ordered(self, op: Op, ask: Ask) -> Extent | None:
        """`argmax(x, axis)`, `argsort(x)`, `searchsorted(edges, x)`."""
        if op.function in LOOKUPS:
            return self._looked_up(op)
        array, axis = op.argument("a", "operand"), op.arguments.get("axis")
        function = op.function
        axis = -1 if axis is None and function == "argsort" else axis
        return self._along(op, array, axis) if function in _ORDERS else None

    def _along(self, op: Op, array: Argument, axis: Argument) -> Extent | None:
        """Return the positions along an axis of an array."""
        if not isinstance(array, Value) or not isinstance(axis, int):
            return None
        found = _extent(ZERO, size_of(met(self._shapes, op, array), axis), op)
        each = op.function != "argsort"
        return None if found is None else replace(found, over=(array, int(axis)), reached=False, each=each)

    def _looked_up(self, op: Op) -> Extent | None:
        """`digitize(x, edges)`: as many as there are edges; what lies behind the last edge gets one more."""
        edges, given = op.argument("bins", "a"), op.argument("v", "x")
        fact = met(self._shapes, op, edges)
        size = size_of(fact, 0) if fact.dims is None or len(fact.dims) == 1 else None
        found = _extent(ZERO, size, op)
        if found is None:
            return None
        most = self._ranges.of(edges).high if isinstance(edges, Value) else inf
        inside = isinstance(given, Value) and self._ranges.of(given).high < most < inf
        return replace(found, each=True, further=0 if inside else 1)

    def turned(self, op: Op, ask: Ask) -> Extent | None:
        """`for i in range(n)`, or the items of an array of indices."""
        bounds = op.arguments.get("iterable")
        if not isinstance(bounds, Mapping):
            return None
        return self._range(bounds.get("start"), bounds.get("stop"), bounds.get("step"), op)

    def computed(self, op: Op, ask: Ask) -> Extent | None:
        """`i + 1`, `n - i`, `64 * i`, `i // 3`, `i % n`, `i + j`, `minimum(i, n)`, `floor(i)`."""
        if op.function in LOOKUPS:
            return self._looked_up(op)
        if op.function == "remainder":
            found = _extent(ZERO, self.number(op.arguments.get("y")), op)
            return None if found is None else replace(found, reached=self._wraps(op, found.last), each=True)
        if op.function in ROUNDED:
            return ask(op.operands[0]) if len(op.operands) == 1 else None
        if op.function in LARGER | SMALLER:
            return self._bounded(op, ask)
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

    def _wraps(self, op: Op, last: Dim) -> bool:
        """Whether what is divided has no bounds that would keep the largest remainder away."""
        given = op.arguments.get("x")
        known = self._ranges.of(given) if isinstance(given, Value) else None
        return known is not None and (last.constant is None or known.high - known.low >= last.constant)

    def _bounded(self, op: Op, ask: Ask) -> Extent | None:
        """`minimum(i, n)`, `maximum(i, 0)`; a bound that is an array itself says nothing."""
        given = [op.arguments.get(name) for name in ("x", "y")]
        numbers = [self.number(one) for one in given]
        if (numbers[0] is None) == (numbers[1] is None):
            return None
        bound = numbers[0] if numbers[1] is None else numbers[1]
        index = given[1] if numbers[1] is None else given[0]
        found = ask(index) if isinstance(index, Value) else None
        if bound is None or op.function in LARGER:
            return None if bound is None else self._from(bound, found)
        return self._up_to(index, bound, found, op)

    def _from(self, bound: Dim, found: Extent | None) -> Extent | None:
        """Return numbers where those below a bound are replaced by it."""
        under = None if found is None else (bound - found.low).constant
        if found is None or under is None or (under <= 0 and not found.bottomless):
            return found
        return replace(found, low=bound, bottomless=False, over=None)

    def _up_to(self, index: Argument, bound: Dim, found: Extent | None, op: Op) -> Extent:
        """Return numbers where those above a bound are replaced by it."""
        low = self._ranges.of(index).low if isinstance(index, Value) else -inf
        most = Extent(constant(int(low)) if 0 <= low < inf else ZERO, bound + ONE, op, reached=False, each=True)
        return replace(most, bottomless=low < 0) if found is None else found.below(most)

    def selected(self, op: Op, ask: Ask) -> Extent | None:
        """`clip(i, 0, n - 1)`, `where(c, i, j)`."""
        index = op.argument("arr", "a", "x", "array") if op.has(*_BOUNDS) else None
        if index is not None:
            most, least = self.number(op.argument("max", "a_max")), self.number(op.argument("min", "a_min"))
            found = ask(index) if isinstance(index, Value) else None
            found = found if most is None else self._up_to(index, most, found, op)
            return found if least is None or found is None else self._from(least, found)
        sides = [op.argument(*names) for names in (("x", "on_true"), ("y", "on_false"))]
        if counts_from_end(op, self._flow) and isinstance(sides[1], Value):
            return ask(sides[1])
        first, second = (ask(one) if isinstance(one, Value) else None for one in sides)
        if first is not None and second is not None:
            return first.joined(second)
        # A number in the place of some of them is no position; what stands for nothing is told elsewhere.
        known, other = (first, sides[1]) if second is None else (second, sides[0])
        number = self.number(other) if known is not None else None
        return known if number is not None and known is not None else None


_BOUNDS = ("max", "min", "a_max", "a_min")


def _extent(low: Dim | None, end: Dim | None, op: Op) -> Extent | None:
    return None if low is None or end is None else Extent(low, end, op)


_RULES: Mapping[str, Callable[[Look, Op, Ask], Extent | None]] = {
    "array.create": Look.counted,
    "py.const": Look.held,
    "key.draw": Look.drawn,
    "array.order": Look.ordered,
    "py.element": Look.turned,
    "array.map": Look.computed,
    "array.select": Look.selected,
}
