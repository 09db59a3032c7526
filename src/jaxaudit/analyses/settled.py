"""What a value is where a condition is known: choices are settled, and what was just written is read back.

Of `y = where(c, a, b)` the value is `a` where `c` holds. Of `z = x.at[i].set(v)` the element at `i` is `v`, and that at
`j` is that of `x` where `v` is what stood at `i` before, or stands at `j`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import Answers
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.record import record


@record
class Element:
    """What stands at one place of an array, or of what an array is where a condition is known."""

    array: Hashable
    index: Hashable


@record
class Sum:
    """What a function of elements makes of others, such as the sum `i + 1`."""

    function: str
    parts: tuple[Hashable, ...]


class Settled:
    """What values are where a condition is known to hold, or not to; with no condition, what they are in any case.

    Two values that have one term are equal. What stands at one place twice in an index was written by either.
    """

    def __init__(self, facts: Facts, condition: Value | None = None, *, holds: bool = True) -> None:
        flow = facts.flow
        self._flow, self._shapes = flow, facts.get(Shapes)
        self._side = ("x", "on_true") if holds else ("y", "on_false")
        self._condition = None if condition is None else _source(flow, condition)
        self._answers = Answers[Hashable, Hashable](self._rule, None)

    def of(self, value: Value) -> Hashable:
        """Return the term of a value."""
        return self._answers(value)

    def at(self, array: Value, index: Argument) -> Hashable:
        """Return the term of what stands at a place of an array."""
        return self._answers(Element(array, place(self._flow, index)))

    def _rule(self, node: Hashable, ask: Callable[[Hashable], Hashable]) -> Hashable:
        if isinstance(node, Element):
            return self._element(node, ask)
        if not isinstance(node, Value):
            return node
        value = _source(self._flow, node)
        op = self._flow.maker(value)
        base = None if op is None else op.value("base")
        if op is not None and op.name == "array.select" and self._settles(op):
            chosen = op.value(*self._side)
            return value if chosen is None else ask(chosen)
        if op is not None and op.name == "py.item" and base is not None:
            return ask(Element(base, place(self._flow, op.argument("index"))))
        if op is not None and base is not None and (given := written(op)) is not None:
            index = place(self._flow, op.argument("index"))
            return ask(base) if ask(given) == ask(Element(base, index)) else value
        return value

    def _element(self, node: Element, ask: Callable[[Hashable], Hashable]) -> Hashable:
        array = _source(self._flow, node.array) if isinstance(node.array, Value) else None
        op = None if array is None else self._flow.maker(array)
        base = None if op is None else op.value("base")
        if op is not None and base is not None and (given := written(op)) is not None:
            index, put = place(self._flow, op.argument("index")), ask(given)
            if index == node.index:
                return put
            before = ask(Element(base, node.index))
            if put == ask(Element(base, index)) or (put == before and self._meets_wholly(index, node.index)):
                return before
        return Element(node.array if array is None else ask(array), node.index)

    def _meets_wholly(self, first: Hashable, second: Hashable) -> bool:
        """Whether two indices are of the same elements if they have any in common: they name single places."""
        both = [one if isinstance(one, tuple) else (one,) for one in (first, second)]
        return len(both[0]) == len(both[1]) and all(
            one == other or (self._is_single(one) and self._is_single(other)) for one, other in zip(*both, strict=True)
        )

    def _is_single(self, index: Hashable) -> bool:
        if isinstance(index, Sum):
            return all(map(self._is_single, index.parts))
        return isinstance(index, int) or (isinstance(index, Value) and self._shapes.of(index).rank == 0)

    def _settles(self, op: Op) -> bool:
        condition = op.value("condition", "pred")
        return condition is not None and _source(self._flow, condition) is self._condition


def written(op: Op) -> Value | None:
    """Return what an op writes into an array in the place of what stood there."""
    return op.value("value") if op.name == "array.scatter" and op.function == "set" else None


def place(flow: Flow, index: Argument) -> Hashable:
    """Return an index as something that two indices which are surely the same have in common."""
    if isinstance(index, Value):
        source = _source(flow, index)
        made = flow.maker(source)
        if made is None or made.name != "array.map" or not made.function:
            return source
        # `i + 1` is the same wherever it is written.
        return Sum(made.function, tuple(_bare(flow, one) for one in made.arguments.values()))
    if isinstance(index, tuple):
        return tuple(place(flow, one) for one in index)
    if isinstance(index, Mapping):
        return repr({key: place(flow, one) for key, one in index.items()})
    return index if isinstance(index, int) and not isinstance(index, bool) else repr(index)


def _bare(flow: Flow, part: Argument) -> Hashable:
    return _source(flow, part) if isinstance(part, Value) else part if isinstance(part, int | float) else repr(part)


def _source(flow: Flow, value: Value) -> Value:
    return origin(flow, value, {}, in_turn=True).value
