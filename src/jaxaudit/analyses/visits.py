"""Which elements of an array a loop reads: all of them, or all but some at an end.

A loop reads elements at what it counts (`x[t]` with `t` from 1 to `n`), or is given a stretch of an array (`x[1:]`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.conditions import HOLDS
from jaxaudit.analyses.dims import ONE, Dim, constant
from jaxaudit.analyses.extents import Extent, extents, met, size_of
from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.queries import behind, depends, holders, last, nothing
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import REST, Argument, Op, Value
from jaxaudit.ir.functions import COMPARISONS
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import BODIES, LOOPS, PASSED_ON, REMARKS
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts, is_whole
from jaxaudit.spans import Span

_INDEXED = ("dynamic_index_in_dim", "index_in_dim", "take")


@record
class Visited:
    """The elements of one array that are read at what one op counts."""

    array: Value
    source: Op
    """What counts: a loop, a range, or the scan that is given a stretch of the array."""
    reads: tuple[Op, ...]
    low: Dim
    end: Dim
    size: Dim

    @property
    def before(self) -> int | None:
        """How many elements at the beginning are not read."""
        return self.low.constant

    @property
    def after(self) -> int | None:
        """How many elements at the end are not read."""
        return (self.size - self.end).constant


def visited(facts: Facts) -> list[Visited]:
    """Return what loops read of arrays whose size along the axis is known."""
    found: defaultdict[tuple[Value, int, Op], list[tuple[Op, Extent, Dim]]] = defaultdict(list)
    for read, array, axis, extent in (*_counted(facts), *_stretches(facts)):
        size = size_of(met(facts.get(Shapes), read, array), axis)
        if size is not None and size.known:
            found[own_name(array, facts), axis, extent.source].append((read, extent, size))
    made = (_together(array, source, reads) for (array, _, source), reads in found.items())
    return [one for one in made if one is not None]


def _together(array: Value, source: Op, reads: Sequence[tuple[Op, Extent, Dim]]) -> Visited | None:
    """Join what is read of one array in one loop; None where that are no neighbours."""
    _, first, size = reads[0]
    lows = [(extent.low - first.low).constant for _, extent, _ in reads]
    ends = [(extent.end - first.end).constant for _, extent, _ in reads]
    if None in lows or None in ends:
        return None
    low = first.low + constant(min(one for one in lows if one is not None))
    end = first.end + constant(max(one for one in ends if one is not None))
    return Visited(array, source, tuple(read for read, _, _ in reads), low, end, size)


def own_name(value: Value, facts: Facts) -> Value:
    """Return what an array was called where it was made, outside of the functions that it was handed to."""
    flow = facts.flow

    def step(one: Value) -> Value | None:
        op = flow.own_maker(one)
        if op is not None:
            return op.operands[0] if op.name in PASSED_ON and op.operands else None
        region = flow.places.owner.get(one)
        # A map or a loop hands over elements.
        called = region is not None and all(holder.name in BODIES for holder in holders(flow, region))
        before = behind(flow, one, nothing) if called else ()
        return before[0] if len(before) == 1 else None

    return last(value, step)


def _counted(facts: Facts) -> Iterator[tuple[Op, Value, int, Extent]]:
    """Return every read of an array at something that is counted."""
    for op in facts.program.named("py.item", "array.gather"):
        found = _index(op)
        index = found[2] if found is not None else None
        extent = extents(facts)(index) if isinstance(index, Value) else None
        if found is None or extent is None or extent.further or extent.bottomless:
            continue
        if extent.single is None and extent.reached and not extent.part:
            yield op, found[0], found[1], extent


def _index(op: Op) -> tuple[Value, int, Argument] | None:
    """Return the array that an op takes one element of, the axis, and which element."""
    if op.name == "array.gather":
        array, axis = op.value("operand", "a"), op.arguments.get("axis", 0)
        given = op.argument("index", "indices") if op.function in _INDEXED else None
        return (array, axis, given) if array is not None and isinstance(axis, int) and given is not None else None
    parts, array = index_parts(op.arguments.get("index")), op.value("base")
    places = [at for at, part in enumerate(parts) if not is_whole(part) and part != REST]
    if array is None or len(places) != 1 or isinstance(parts[places[0]], Mapping):
        return None
    axis = places[0] - len(parts) if REST in parts[: places[0]] else places[0]
    return array, axis, parts[places[0]]


def _stretches(facts: Facts) -> Iterator[tuple[Op, Value, int, Extent]]:
    """Return every stretch of an array that a scan goes through."""
    for op in facts.program.named("scan"):
        for _, array in Loop(op).elements:
            cut = facts.flow.maker(own_name(array, facts))
            base = cut.value("base") if cut is not None and cut.name == "py.item" else None
            if cut is None or base is None:
                continue
            bounds = _stretch(cut.arguments.get("index"))
            size = size_of(met(facts.get(Shapes), cut, base), 0)
            if bounds is not None and size is not None:
                yield cut, base, 0, Extent(constant(bounds[0]), size + constant(bounds[1]), op)


def _stretch(index: Argument) -> tuple[int, int] | None:
    """Return how many elements an index leaves out at the beginning, and, as a negative number, at the end."""
    part = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if not isinstance(part, Mapping) or part.get("step") not in (None, 1):
        return None
    start, stop = part.get("start") or 0, part.get("stop")
    stop = 0 if stop is None else stop if isinstance(stop, int) and stop < 0 else None
    return (start, stop) if isinstance(start, int) and start >= 0 and stop is not None else None


def read_at(one: Visited, facts: Facts) -> Mapping[int, Op] | None:
    """Return the single elements of an array that are read besides, by place; None where more of it is read.

    Those behind what the loop reads are counted from the end.
    """
    found: dict[int, Op] = {}
    for op in _readers(one.array, facts):
        index = _index(op)
        place = None if index is None else _end(index[2], one, facts)
        if op in one.reads or op.name == "array.shape" or op.name in REMARKS:
            continue
        if place is None:
            return None
        found[place] = op
    return found


def is_read_beside(one: Visited, place: int, facts: Facts) -> bool:
    """Whether the element at an end is read of another part of the record that the array belongs to.

    The parts of a sequence are of one length: where the last observation counts and the last reward does not, there is
    one observation more than there are steps.
    """
    flow = facts.flow
    maker = flow.maker(one.array)
    whole = maker.value("base") if maker is not None and maker.name in ("py.item", "py.attr") else None
    parts = (op for op in flow.readers.get(whole, ()) if op.name in ("py.item", "py.attr")) if whole else ()
    read = (_index(op) for part in parts for value in part.results for op in _readers(value, facts))
    return any(index is not None and _end(index[2], one, facts) == place for index in read)


def _end(given: Argument, one: Visited, facts: Facts) -> int | None:
    """Return the place of a single element, counted from the end where it lies behind what the loop reads."""
    number = met(facts.get(Shapes), one.source, given).number if given is not None else None
    if number is None:
        return None
    place, behind = number.constant, (number - one.size).constant
    if behind is not None and 0 > behind >= -(one.after or 0):
        return behind
    return place


def _readers(array: Value, facts: Facts) -> Iterator[Op]:
    """Return the ops that read an array, under any name; what it is merely handed to is left out."""
    names, flow = {array: None}, facts.flow
    for name in (pending := [array]):
        for op in flow.readers.get(name, ()):
            inner = [param for region in op.regions for param in region.params if own_name(param, facts) is array]
            pending += [param for param in inner if param not in names]
            names.update(dict.fromkeys(inner))
            if not inner:
                yield op


def starts_with(one: Visited, read: Op, facts: Facts) -> bool:
    """Whether a loop carries on from an element that is read before it."""
    source = one.source
    region = facts.places.region_of.get(source)
    holder = facts.places.holder.get(id(region)) if source.name == "py.element" and region is not None else None
    loops = [loop for op in (source, holder) if op is not None and (loop := Loop.of(op)) is not None]
    if not loops and source.results:
        fed = facts.flow.readers.get(source.results[0], ())
        loops = [loop for op in fed if op.name in LOOPS and (loop := Loop.of(op)) is not None]
    starts = [carried.start for loop in loops for carried in loop.carried]
    return any(depends(facts.flow, start, read.results) for start in starts)


def guards(one: Visited, facts: Facts) -> Iterator[tuple[Op, Dim]]:
    """Return the comparisons of what is counted with what it would be at the element that is left out."""
    missing = [one.low - ONE] * (one.before == 1) + [one.end] * (one.after == 1)
    counted = {index[2] for read in one.reads if (index := _index(read)) is not None and isinstance(index[2], Value)}
    names = {own_name(index, facts) for index in counted if isinstance(index, Value)}
    compared = [op for name in names for op in _comparisons(facts).get(name, ())]
    for op in sorted(compared, key=facts.places.order.__getitem__):
        others = _compared_at(facts)[op.span] - names
        if not all(_is_again(name, one, facts) for name in others):
            # A line that is read for other indices as well is there for them, too.
            continue
        number = met(facts.get(Shapes), op, op.arguments.get("y")).number
        yield from ((op, place) for place in missing if number is not None and _tells(op, place, number, one))


def _is_again(name: Value, one: Visited, facts: Facts) -> bool:
    """Whether a value is what the same line counts in another call."""
    extent = extents(facts)(name)
    return extent is not None and extent.source is not one.source and extent.source.span == one.source.span


@remembered
def _comparisons(facts: Facts) -> Mapping[Value, list[Op]]:
    """Return the comparisons of a program, by what their left sides are called where they were made."""
    found: defaultdict[Value, list[Op]] = defaultdict(list)
    for op in facts.program.mapping(*COMPARISONS):
        if (x := op.value("x")) is not None:
            found[own_name(x, facts)].append(op)
    return found


@remembered
def _compared_at(facts: Facts) -> Mapping[Span, set[Value]]:
    """Return what is compared at each place of the program, by what it is called where it was made."""
    found: defaultdict[Span, set[Value]] = defaultdict(set)
    for name, ops in _comparisons(facts).items():
        for op in ops:
            found[op.span].add(name)
    return found


def _tells(op: Op, place: Dim, number: Dim, one: Visited) -> bool:
    """Whether a comparison tells the element that is left out from all that are read."""
    missed, *others = ((at - number).constant for at in (place, one.low, one.end - ONE))
    known = [gap for gap in others if gap is not None]
    if missed is None or not known:
        return False
    holds = HOLDS[op.function]
    return all(holds(gap, 0) is not holds(missed, 0) for gap in known)
