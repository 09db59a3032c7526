"""In which order the rows of an array are: by which draws they were shuffled or picked, one after the other.

Rows are followed through what computes each row of its result from the same row of what it is given, through slices and
the borders of loops, maps and calls. What was picked by the same draw is in one order, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from jaxaudit.analyses.dims import same
from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.analyses.keys.overlap import Overlap, overlap
from jaxaudit.analyses.queries import Answers, behind, last, nothing, operands_of, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import ARRAYS_OF_ITEMS, GROWING_ALONG, PLACES, REORDERINGS
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import CALLS, MAPPED, PASSED_ON
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts
from jaxaudit.libraries.lookup import lookup

_MOST = 3
"""So many draws are followed one after the other; a loop may go on for ever."""
_PLACES = through_ops("array.convert", "array.reshape", "py.item", "py.element", "array.gather", "device.place")
"""Ops that give some of the places that somebody has drawn."""
_SLICED = ("dynamic_slice_in_dim", "dynamic_slice", "dynamic_index_in_dim")


@record
class Pick:
    """Rows that are taken of an array in a drawn order."""

    op: Op
    draw: Op
    """What draws the order."""

    @property
    def whole(self) -> bool:
        """Whether it gives all rows, each once."""
        return self.draw.function in REORDERINGS or self.draw.function not in PLACES


@record
class Rows:
    """Rows of an array, and the picks that gave them."""

    base: Value
    picks: tuple[Pick, ...] = ()


class RowOrders:
    """The orders of rows in one program."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._asked = Answers[Value, frozenset[Rows]](self._rows, frozenset())

    def of(self, value: Value) -> frozenset[Rows]:
        """Return the rows that those of a value were computed from, each from the one at its place."""
        return self._asked(value)

    def same(self, first: Pick, second: Pick) -> bool:
        """Whether two picks may be in one order."""
        return self._compare(first, second) is not Overlap.DISJOINT

    def one_order(self, first: Pick, second: Pick) -> bool:
        """Whether two picks are surely in one order."""
        alike = first.draw.function == second.draw.function
        return alike and self._compare(first, second) is Overlap.SAME

    def _compare(self, first: Pick, second: Pick) -> Overlap:
        if first.draw is second.draw:
            return Overlap.SAME
        keys = self.facts.get(KeyFacts)
        terms = [None if (key := one.draw.value("key")) is None else keys.term(key) for one in (first, second)]
        if terms[0] is None or terms[1] is None:
            return Overlap.MAYBE if first.draw.name != second.draw.name else Overlap.DISJOINT
        return overlap(terms[0], terms[1])

    def pick(self, op: Op) -> tuple[Value, Pick] | None:
        """Return the array that an op picks rows of in a drawn order, and how."""
        base = op.value("x", "a") if op.name in ("key.draw", "py.random") else op.base
        if base is None or op.argument("axis") not in (None, 0) or op.argument("independent"):
            return None
        if op.name in ("key.draw", "py.random"):
            several = op.function in PLACES - {"randint"} and self._is_array(base)
            return (base, Pick(op, op)) if several else None
        draw = self._drawn(op) if op.name in ("py.item", "array.gather") else None
        return None if draw is None else (base, Pick(op, draw))

    def forms(self, value: Value) -> Iterator[Value]:
        """Return an array and those that it was made of by itself alone, row by row."""

        def before(one: Value) -> Iterable[Value]:
            found = [*self.rows_before(one)]
            return found if len(found) == 1 else ()

        return walk((value,), before)

    def are_as_long(self, first: Value, second: Value) -> bool:
        """Whether two arrays surely have as many rows."""
        one, other = (self.facts.get(Shapes).of(value).dims for value in (first, second))
        return bool(one and other and same(one[0], other[0]))

    def sources(self, value: Value) -> frozenset[Value | Op]:
        """Return what the rows of a value were computed from row by row, and the loops and maps that made them."""
        return self.facts.memo(_sources, self, value)

    def rows_before(self, value: Value) -> Iterator[Value]:
        """Return the arrays whose rows those of a value were computed from, in one step."""
        op = self.facts.flow.own_maker(value)
        if op is not None and op.name in MAPPED and op.name != "tree.map":
            # Whatever is mapped makes each row of the row that it is given.
            axes = op.in_axes or (0,) * len(op.operands)
            yield from (one for one, axis in zip(op.operands, axes, strict=False) if axis == 0)
        elif op is None or op.regions:
            yield from behind(self.facts.flow, value, nothing)
        elif self.pick(op) is None:
            yield from self._kept(op)

    def _rows(self, value: Value, ask: Callable[[Value], frozenset[Rows]]) -> frozenset[Rows]:
        op = self.facts.flow.own_maker(value)
        picked = None if op is None or op.regions else self.pick(op)
        if picked is None:
            found = frozenset(one for before in self.rows_before(value) for one in ask(before))
            return found or frozenset((Rows(self.name(value)),))
        base, pick = picked
        before = [one for one in ask(base) if one.picks]
        again = (Rows(one.base, (*one.picks, pick)) for one in before if len(one.picks) < _MOST)
        return frozenset((*again, *(() if before else (Rows(self.name(base), (pick,)),))))

    def name(self, value: Value) -> Value:
        """Return an array under the name that it was made by."""
        return last(value, self._other_name)

    def _other_name(self, value: Value) -> Value | None:
        op = self.facts.flow.own_maker(value)
        if op is not None and not op.regions:
            return op.operands[0] if op.name in PASSED_ON and op.operands else None
        before = behind(self.facts.flow, value, nothing)
        return before[0] if len(before) == 1 and (op is None or op.name in CALLS) else None

    def _drawn(self, op: Op) -> Op | None:
        """Return what drew the places along the first axis that an op takes rows from."""
        first = next(iter(index_parts(op.argument("index", "indices"))), None)
        if not isinstance(first, Value) or op.function in _SLICED:
            return None
        flow = self.facts.flow
        places = walk((first,), lambda one: _own(self, one))
        found = dict.fromkeys(made for one in places if (made := flow.own_maker(one)) is not None)
        draws = [made for made in found if made.name in ("key.draw", "py.random") and made.function in PLACES]
        sorts = [made for made in found if made.name == "array.order" and made.function == "argsort"]
        if len(draws) == 1 and not sorts:
            return draws[0] if self._has_rows(first) else None
        drawn = [flow.maker(one) for op in sorts for one in op.operands[:1]] if len(sorts) == 1 and not draws else []
        return next((one for one in drawn if one is not None and one.name == "key.draw"), None)

    def _has_rows(self, index: Value) -> bool:
        """Whether an index is an array of places, and no single one."""
        dims = self.facts.get(Shapes).of(index).dims
        return dims is None or bool(dims)

    def _is_array(self, value: Value) -> bool:
        """Whether what is permuted is an array of rows, and no number of places."""
        fact = self.facts.get(Shapes).of(value)
        made = self.facts.flow.maker(value)
        return fact.dims != () and fact.number is None and (made is None or made.name != "array.shape")

    def _kept(self, op: Op) -> Sequence[Value]:
        """Return the operands of which an op computes each row of its result from the same row."""
        match op.name:
            case "array.map" | "array.select":
                return self._as_long(op)
            case "py.item" | "py.element" | "array.reshape" | "array.expand" | "array.normalise" | "array.squeeze":
                base = op.argument("iterable", "base") or op.base
                return (base,) if isinstance(base, Value) else ()
            case "array.gather":
                return op.operands[:1] if op.function in (*_SLICED, "take_along_axis") else ()
            case "array.scan":
                # What is summed up over the rows has an entry for each of them.
                return op.operands[:1]
            case "array.convert" | "device.place" | "grad.stop" | "array.create":
                # An array that is made of another one has its rows.
                return op.operands[:1] if op.name != "array.create" or op.function in ARRAYS_OF_ITEMS else ()
            case "array.dot":
                return op.operands[:1] if len(op.operands) > 1 else ()
            case "array.reduce" | "array.order" if op.function != "argsort":
                axis = op.argument("axis")
                return op.operands[:1] if isinstance(axis, int) and axis != 0 else ()
            case "array.join":
                return op.operands if op.argument("axis") not in (None, 0) else ()
            case "py.call_library":
                row = lookup(op.qualified)
                given = op.value("inputs", "x", "input") if row is not None and "layer" in row.roles else None
                return () if given is None else (given,)
        return ()

    def _as_long(self, op: Op) -> Sequence[Value]:
        """Return the operands that have as many rows as the result; all where that is not known."""
        shapes = self.facts.get(Shapes)
        dims = shapes.of(op.results[0]).dims if op.results else None
        if not dims:
            return op.operands
        own = {one: shapes.of(one).dims for one in op.operands}
        return [
            one for one, found in own.items() if found is None or (len(found) == len(dims) and same(found[0], dims[0]))
        ]


@remembered
def row_orders(facts: Facts) -> RowOrders:
    """Return the orders of rows in a program."""
    return RowOrders(facts)


def _own(orders: RowOrders, value: Value) -> Sequence[Value]:
    op = orders.facts.flow.own_maker(value)
    if op is None or op.regions:
        return behind(orders.facts.flow, value, nothing)
    return operands_of(orders.facts.flow, value, _PLACES)[:1]


def _sources(facts: Facts, orders: RowOrders, value: Value) -> frozenset[Value | Op]:
    flow = facts.flow
    values = [one for one in walk((value,), orders.rows_before) if _is_data(orders, one)]
    runs = (op for one in values if (op := flow.places.maker.get(one)) is not None and _made_in_turns(op, one))
    return frozenset((*values, *runs))


def _made_in_turns(op: Op, value: Value) -> bool:
    """Whether each row of a value is made by one turn of a loop, or by one run of what is mapped."""
    if op.name == "scan":
        return any(value is made for _, made in Loop(op).stacked)
    return op.name in MAPPED - {"tree.map"}


def _is_data(orders: RowOrders, value: Value) -> bool:
    """Whether an array has rows that differ, so that what is computed from them belongs together."""
    made, fact = orders.facts.flow.maker(value), orders.facts.get(Shapes).of(value)
    if made is not None and made.name in ("array.create", "py.const", "array.shape") and not made.operands:
        return made.function in GROWING_ALONG
    return fact.dims != ()
