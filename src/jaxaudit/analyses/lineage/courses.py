"""The course of a loop: which arrays it goes through, what a turn sees of them, and which way.

A scan is given the elements of arrays; a loop of Python or a `fori_loop` reads them at its counter, as `x[t]` or
`x[T - 1 - i]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.lineage.products import Product, Sums
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.interfaces import Carried, Loop, Turn
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts


@record
class Seen:
    """One element of an array, as a turn of a loop sees it."""

    array: Value
    forwards: bool | None
    """Whether later turns see later elements."""
    ahead: float = 0.0
    """How many places it lies behind the counter in the array."""
    base: frozenset[Product] = frozenset()
    """What else than the counter and a number the index is made of."""
    counter: Value | None = None
    """What is counted; None where the loop hands out the elements."""

    def follows(self, other: Seen) -> bool:
        """Whether it is the element behind another one of the same array."""
        alike = self.array is other.array and self.base == other.base and self.counter is other.counter
        return alike and self.counter is not None and self.ahead == other.ahead + 1


@record
class Course:
    """How a loop goes through arrays."""

    op: Op
    carried: tuple[Carried, ...]
    elements: Mapping[Value, Seen]
    """What a turn sees of each array."""

    @property
    def successors(self) -> Iterator[tuple[Carried, Value]]:
        """What is carried, with what the next turn gets."""
        results = Loop(self.op).body.results
        return ((one, results[one.position]) for one in self.carried if one.position < len(results))

    @property
    def backwards(self) -> bool | None:
        """Whether later turns see earlier elements; None where it cannot be told."""
        ways = {seen.forwards for seen in self.elements.values()}
        way = ways.pop() if len(ways) == 1 else None
        return None if way is None else not way


def course(op: Op, sums: Sums) -> Course | None:
    """Return how a loop goes through arrays; None for what is no loop."""
    loop = Loop.of(op)
    if loop is None:
        return None
    if op.name == "scan":
        return Course(op, tuple(loop.carried), dict(_handed_out(op, loop.elements, sums)))
    if op.name == "associative_scan":
        count = len(loop.body.results)
        carried = (Carried(*pair, at) for at, pair in enumerate(loop.elements[:count]))
        return Course(op, tuple(carried), dict(_handed_out(op, loop.elements[count:], sums)))
    return Course(op, tuple(loop.carried), dict(_read(loop, sums)))


def _handed_out(op: Op, elements: list[tuple[Value, Value]], sums: Sums) -> Iterator[tuple[Value, Seen]]:
    reverse = op.reverse
    for param, array in elements:
        turn = Turn.of(sums.maker(array))
        forwards = None if reverse is None else reverse is (turn is not None)
        yield param, Seen(array if turn is None else turn.base, forwards)


def _read(loop: Loop, sums: Sums) -> Iterator[tuple[Value, Seen]]:
    """Find what the body of a counted loop reads at its counter, and what a loop of Python hands out."""
    counters = dict(_counters(loop, sums))
    for op in loop.body.walk():
        if op.name == "py.element" and op.arguments.get("index") is loop.counter:
            array = op.arguments.get("iterable")
            if isinstance(array, Value):
                turn = Turn.of(sums.maker(array))
                yield op.results[0], Seen(array if turn is None else turn.base, turn is None)
        elif op.results and (found := _indexed(op, counters, sums)) is not None:
            yield op.results[0], found


def _counters(loop: Loop, sums: Sums) -> Iterator[tuple[Value, bool]]:
    """Return what a loop counts by ones, and whether it counts up."""
    if loop.counter is not None:
        yield loop.counter, True
    for op in loop.body.ops:
        bounds = op.arguments.get("iterable") if op.name == "py.element" else None
        if isinstance(bounds, Mapping) and op.arguments.get("index") is loop.counter and bounds.get("step") in (1, -1):
            yield op.results[0], bounds.get("step") == 1
    for param, end in loop.successors if loop.op.name in ("while", "py.while") else ():
        parts = sums.products(end)
        step = next((one.coefficient for one in parts if not one.factors), 0)
        if len(parts) == 2 and Product(1.0, (param,)) in parts and abs(step) == 1:
            yield param, step > 0


def _indexed(op: Op, counters: Mapping[Value, bool], sums: Sums) -> Seen | None:
    """Return which element of an array an op takes, where it does so by what the loop counts."""
    if op.name == "py.item":
        array, index = op.arguments.get("base"), index_parts(op.arguments.get("index"))
    elif op.function in ("dynamic_index_in_dim", "index_in_dim", "take"):
        array, index = op.argument("operand", "a"), (op.argument("index", "indices"),)
    else:
        return None
    places = [part for part in index if isinstance(part, Value)]
    return place_of(array, places[0], counters, sums) if isinstance(array, Value) and len(places) == 1 else None


def place_of(array: Value, index: Argument, counters: Mapping[Value, bool], sums: Sums) -> Seen | None:
    """Return which element an index takes: so many places from the counter, or from what is as far from its end."""
    parts = sums.products(index)
    counted = [one for one in parts if len(one.factors) == 1 and one.factors[0] in counters and not one.masks]
    if len(counted) != 1 or abs(counted[0].coefficient) != 1:
        return None
    counter = counted[0].factors[0]
    numbers = sum(one.coefficient for one in parts if not one.factors and not one.masks)
    rest = frozenset(one for one in parts if one.factors and one is not counted[0])
    return Seen(sums.source(array), counters[counter] is (counted[0].coefficient > 0), numbers, rest, counter)
