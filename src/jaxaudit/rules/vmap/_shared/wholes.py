"""What every element of a map is given whole although it has the mapped axis, and what becomes of that axis.

Inside of the map the elements have lost the axis, so whatever has it there has it from an argument that is not mapped,
or from a value that the function captures. One walk follows the axis from where it comes in to where it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jaxaudit.analyses.axes.meetings import Meeting, Side, meetings, taken_sides
from jaxaudit.analyses.axes.slots import Slot, onward
from jaxaudit.analyses.dims import Dim, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import contradiction, related
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, entered, left, nothing, operands_of, reached, readers, sources, walk
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import COMPARISONS, LINEAR, NORMS, SCALINGS
from jaxaudit.ir.interfaces import Loop, Mapped
from jaxaudit.ir.ops import ELEMENTWISE, MAPPED, REDUCING
from jaxaudit.ir.record import record, replace

_MEETING = ELEMENTWISE | {"array.dot", "array.gather", "py.item", "py.call_library"}
"""Ops in which rows meet one element; of an index, rows of places meet what they are taken from."""
_ALONG = ("array.normalise", "array.scan", "array.order")
"""Ops that work along an axis and keep it."""


@record
class Whole:
    """Something that has the mapped axis and is given whole to every element."""

    op: Op
    inside: Value
    """What it is called where it is read."""
    outside: Value
    dims: tuple[Dim, ...]
    place: int
    """Which of its axes is the mapped one."""
    mapped: Side
    named: bool
    """Whether both have a size of one name, and not merely as many elements."""
    paired: bool = False
    """Whether each row belongs to one element: both were computed row by row of one and the same thing."""

    met: bool = False
    """Whether the axis meets one of the name of the mapped one elsewhere."""

    @property
    def sure(self) -> bool:
        """Whether the axis surely is the mapped one."""
        return self.named or self.paired or self.met

    @property
    def row(self) -> tuple[Dim, ...]:
        """The sizes of what belongs to one element."""
        return (*self.dims[: self.place], *self.dims[self.place + 1 :])

    def is_axis(self, dim: Dim) -> bool:
        """Whether the axis of some array is the mapped one."""
        return is_one(dim, self.mapped.dim) if self.named else same(dim, self.mapped.dim)


@record
class Fate:
    """What becomes of the axis of something that is given whole."""

    met: tuple[tuple[Op, Value], ...]
    """The ops in which it meets what was made of one element, with that."""
    hidden: Op | None
    """The reduction that takes the axis away together with others, so that nothing is left of it."""
    inside: bool
    """Whether that happens to one element, and not to all of them."""
    twice: bool
    """Whether a result of the map has the axis a second time."""
    meant: Op | None
    """What treats the axis as one of its own, so that the elements are meant to meet all of it."""


def is_one(first: Dim, second: Dim) -> bool:
    """Whether two axes are one: of one size that is no plain number, or of one name."""
    return same(first, second) and (first.constant is None or related(first.labels, second.labels))


def elements_of(op: Op) -> list[tuple[Value, Value]]:
    """Return each parameter that holds one element of an operand of a map or scan, with that operand."""
    loop = Loop.of(op)
    return Mapped(op).elements if loop is None else loop.elements


def wholes(op: Op, context: Context, facts: Facts) -> Iterator[Whole]:
    """Return what has the mapped axis and is given whole, argument or captured."""
    shapes, flow = facts.get(Shapes), facts.flow
    sides = taken_sides(op, context.of)
    own = _names(flow, [side.value for side in sides])
    for inside, outside in _given_whole(op, flow):
        captured = inside is outside
        dims = (shapes.of(outside) if captured else context.of(outside)).dims
        if dims is None or not own.isdisjoint(_names(flow, (outside,))):
            # Elements that meet the very array they are taken from are all pairs of it.
            continue
        found = next(_axes(dims, sides), None)
        if found is not None:
            whole = Whole(op, inside, outside, dims, *found)
            met = not whole.named and _is_met_elsewhere(whole, facts)
            yield replace(whole, paired=_is_paired(whole, shapes, flow), met=met)


def _names(flow: Flow, values: Iterable[Value]) -> set[Value]:
    """Return all that values are called, of variables of the module what the module left in them."""
    found = sources(flow, values, nothing)
    makers = (op for one in found if (op := flow.maker(one)) is not None and op.name == "py.global")
    return found.union(op.constant for op in makers if isinstance(op.constant, Value))


def _is_met_elsewhere(whole: Whole, facts: Facts) -> bool:
    """Whether the axis meets one of the name of the mapped one somewhere else, so that both are one."""
    flow, names = facts.flow, _names(facts.flow, (whole.outside,))
    read = (op for op in facts.program.named("py.global") if op.constant in names)
    starts = [Slot(one, whole.place) for one in (*names, *(value for op in read for value in op.results))]
    for slot in walk(starts, lambda one: (made for _, made in onward(facts, one))):
        for op in flow.readers.get(slot.value, ()):
            outside = op.name in ELEMENTWISE and not flow.places.within(flow.places.region_of[op], whole.op.regions[0])
            if outside and any(_is_one_with(slot, met, whole.mapped.dim) for met in _meetings(op, facts)):
                return True
    return False


def _meetings(op: Op, facts: Facts) -> list[Meeting]:
    return [met for context in facts.get(Shapes).contexts(op) for met in meetings(op, context)]


def _is_one_with(slot: Slot, met: Meeting, dim: Dim) -> bool:
    """Whether an axis meets one of a name here."""
    pairs = ((met.left, met.right), (met.right, met.left))
    own = (other for side, other in pairs if side.value is slot.value and side.place == slot.place)
    return any(related(other.dim.labels, dim.labels) for other in own)


def _axes(dims: tuple[Dim, ...], sides: Iterable[Side]) -> Iterator[tuple[int, Side, bool]]:
    """Return which axes may be the mapped one, the surest first."""
    pairs = [(place, side) for place, dim in enumerate(dims) for side in sides if same(dim, side.dim)]
    yield from ((place, side, True) for place, side in pairs if is_one(dims[place], side.dim))
    for place, side in pairs:
        if contradiction(dims[place].labels, side.dim.labels) is None:
            yield place, side, False


def _given_whole(op: Op, flow: Flow) -> Iterator[tuple[Value, Value]]:
    """Return what an element is given whole, under the names that it has inside and outside of the map."""
    mapped = Mapped.of(op)
    yield from mapped.shared if mapped is not None else ()
    ops = list(op.regions[0].walk())
    read = dict.fromkeys(value for one in ops for value in one.operands)
    yield from ((value, value) for value in read if not _is_made_in(value, op, flow))
    yield from ((value, value) for one in ops if one.name == "py.global" for value in one.results)


def _is_made_in(value: Value, op: Op, flow: Flow) -> bool:
    """Whether a value is made inside of a map, or is a parameter there."""
    home = flow.places.owner.get(value) or flow.places.region_of_value(value)
    return flow.places.within(home, op.regions[0])


def fate(whole: Whole, shapes: Shapes, flow: Flow) -> Fate:
    """Follow the axis of something that is given whole to its end."""
    way = _Way(whole, shapes, flow)
    nodes = list(walk((whole.inside,), way.step))
    elements = reached(flow, [param for param, _ in elements_of(whole.op)])
    met: list[tuple[Op, Value]] = []
    ends: list[Op] = []
    for value in nodes:
        for op in way.readers(value):
            met.extend((op, one) for one in way.met(op, value) if one in elements)
            if op.results and not op.regions and (not way.goes_on(op, value) or way.pairs(op, nodes)):
                ends.append(op)
    hidden = [op for op in ends if way.takes_all(op)]
    meant = next((op for op in ends if op not in hidden), None)
    first = hidden[0] if hidden else None
    twice = any(one in nodes for one in whole.op.results)
    return Fate(tuple(met), first, first is not None and way.is_inside(first), twice, meant)


@record
class _Way:
    """The way of an axis that every element is given."""

    whole: Whole
    shapes: Shapes
    flow: Flow

    def step(self, value: Value) -> Iterator[Value]:
        """Return what has the axis because a value has it."""
        for op in self.readers(value):
            if op.regions:
                yield from entered(op, value)
            elif self.goes_on(op, value):
                yield from op.results
        if value is not self.whole.inside or value is not self.whole.outside:
            yield from (one for one in left(self.flow, value) if self._has(one))

    def readers(self, value: Value) -> Iterator[Op]:
        """Return what reads a value, of one that is captured only what reads it inside."""
        outside = value is self.whole.outside
        return (op for op in self.flow.readers.get(value, ()) if not outside or self.is_inside(op))

    def is_inside(self, op: Op) -> bool:
        """Whether an op runs for each element."""
        return self.flow.places.within(self.flow.places.region_of.get(op), self.whole.op.regions[0])

    def goes_on(self, op: Op, value: Value) -> bool:
        """Whether all that an op gives has the axis, and none of it is due to the axis."""
        return bool(op.results) and all(map(self._has, op.results)) and not self._works_along(op, value)

    def met(self, op: Op, value: Value) -> Iterator[Value]:
        """Return what meets the axis in an op, row by row, without having it."""
        meeting = _MEETING if self.whole.op.name in MAPPED else ELEMENTWISE
        if not op.regions and self.is_inside(op) and self.goes_on(op, value) and op.name in meeting:
            yield from (one for one in op.operands if one is not value and not self._places(one))

    def pairs(self, op: Op, nodes: Sequence[Value]) -> bool:
        """Whether something that speaks of pairs of elements takes part: a mask, the diagonal."""
        others = [one for one in op.operands if one not in nodes]
        return not self.is_inside(op) and any(len(self._places(one)) > 1 for one in others)

    def takes_all(self, op: Op) -> bool:
        """Whether an op reduces all axes of an array, without naming this one alone."""
        if op.name not in REDUCING:
            return False
        axis, dims = op.argument("axis"), self.shapes.of(op.operands[0]).dims
        return axis is None or (isinstance(axis, tuple) and dims is not None and len(axis) == len(dims))

    def _has(self, value: Value) -> bool:
        """Whether a value has the axis: outside of the map once more than there are elements."""
        return len(self._places(value)) >= (1 if _is_made_in(value, self.whole.op, self.flow) else 2)

    def _places(self, value: Value) -> list[int]:
        dims = self.shapes.of(value).dims or ()
        return [place for place, dim in enumerate(dims) if self.whole.is_axis(dim)]

    def _works_along(self, op: Op, value: Value) -> bool:
        if op.name not in _ALONG:
            return False
        dims, axis = self.shapes.of(value).dims or (), op.argument("axis")
        if axis is None and op.name == "array.normalise":
            axis = -1
        place = place_of(axis, len(dims)) if isinstance(axis, int) else None
        return place is None or place in self._places(value)


def is_made(value: Value, whole: Whole, flow: Flow) -> bool:
    """Whether a value is computed of an element and something that is no element, as a prediction is."""
    params = whole.op.regions[0].params
    mapped = {param for param, _ in elements_of(whole.op)}
    ways = walk((value,), lambda one: () if one in params else behind(flow, one))
    given = (operands_of(flow, one) for one in ways if one not in params)
    return any(len(operands) > 1 and not set(operands) <= mapped for operands in given)


def _is_paired(whole: Whole, shapes: Shapes, flow: Flow) -> bool:
    """Whether both were computed row by row of one and the same thing."""

    def has(value: Value) -> bool:
        count = sum(map(whole.is_axis, shapes.of(value).dims or ()))
        # Of several axes with as many elements nobody can tell which is which.
        return count > 0 if whole.named else count == 1

    def rows(value: Value) -> set[Value]:
        return set(walk((value,), lambda one: (before for before in behind(flow, one) if has(before))))

    if not has(whole.outside) or not has(whole.mapped.value):
        return False

    return not rows(whole.outside).isdisjoint(rows(whole.mapped.value))


def is_bent(op: Op, flow: Flow) -> bool:
    """Whether what an op gives goes through a function that is not linear: a sum of several does not go through it."""
    if op.function in NORMS:
        return True
    linear = LINEAR | SCALINGS
    reading = (one for value in op.results for one in readers(flow, value) if one.name == "array.map")
    return any(one.function not in linear and one.function not in COMPARISONS for one in reading)
