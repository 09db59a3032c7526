"""Which elements of an array a loop writes, where each is computed from the one beside it that was written before.

`x.at[i].set(f(x[i - 1]))` with `i` from 1 to `n` fills an array from its first element on. What the loop reads of this
and of other arrays says how far it could go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.dims import Dim, constant
from jaxaudit.analyses.extents import extents, met, size_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import ahead, depends, nothing, operands_of, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.succession import own_loop
from jaxaudit.analyses.visits import Visited, own_name, visited
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import ARITHMETIC, SCALINGS
from jaxaudit.ir.interfaces import Carried, Loop
from jaxaudit.ir.ops import REMARKS
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts, is_whole

_calculated = through_ops("array.map", "array.convert")


def _counts_on(op: Op) -> bool:
    """Whether what an op gives still is what is counted, and no flag or share of it."""
    return _calculated(op) and (op.name == "array.convert" or op.function in ARITHMETIC - SCALINGS)


_COUNTING = frozenset(
    ("array.map", "array.convert", "array.select", "array.at", "array.scatter", "py.return", "py.test", "key.fold_in")
)
"""Ops that take what is counted whatever it is, and writes, which are looked at by themselves."""


@record
class Filled:
    """An array that a loop fills, each element from the one that it wrote before."""

    carried: Carried
    loop: Loop
    write: Op
    axis: int
    """The axis along which it is filled."""
    low: Dim
    end: Dim
    size: Dim
    forwards: bool
    """Whether each element is computed from the one before it."""
    reads: tuple[Visited, ...]
    """All that the loop reads at its counter."""

    @property
    def before(self) -> int | None:
        """How many elements at the beginning are not written."""
        return self.low.constant

    @property
    def after(self) -> int | None:
        """How many elements at the end are not written."""
        return (self.size - self.end).constant

    @property
    def result(self) -> Value:
        """The array after the loop."""
        return self.loop.op.results[self.carried.position]


def filled(facts: Facts) -> Iterator[Filled]:
    """Return every array that a loop fills, each element from the one beside it."""
    writes = [op for op in facts.program.named("array.scatter") if op.function == "set"]
    seen = visited(facts) if writes else []
    for op in writes:
        base, loop = op.value("base"), own_loop(facts.flow, op)
        array = None if base is None else own_name(base, facts)
        carried = next((one for one in loop.carried if one.param is array), None) if loop is not None else None
        axis, index = _counted_part(op)
        extent = extents(facts)(index) if isinstance(index, Value) else None
        size = None if base is None else size_of(met(facts.get(Shapes), op, base), axis)
        if carried is None or loop is None or extent is None or size is None or not size.known:
            continue
        if not extent.reached or extent.part or extent.single is not None:
            continue
        reads = tuple(one for one in seen if one.source is extent.source)
        way = _way(carried.param, extent.low, extent.end, reads, facts.flow)
        if way is not None and carried.position < len(loop.op.results):
            yield Filled(carried, loop, op, axis, extent.low, extent.end, size, way, reads)


def _counted_part(op: Op) -> tuple[int, Argument]:
    """Return the axis along which a write picks one place, all others whole, and which place."""
    parts = index_parts(op.arguments.get("index"))
    places = [at for at, part in enumerate(parts) if not is_whole(part)]
    return (places[0], parts[places[0]]) if len(places) == 1 else (0, None)


def _way(array: Value, low: Dim, end: Dim, reads: tuple[Visited, ...], flow: Flow) -> bool | None:
    """Return whether elements are computed from those before them, or from those behind; None for neither."""
    own = [one for one in reads if one.array is array or depends(flow, one.array, [array])]
    gaps = [((one.low - low).constant, (one.end - end).constant) for one in own]
    if own and all(first == -1 and last is not None and last <= 0 for first, last in gaps):
        return True
    return False if own and all(last == 1 and first is not None and first >= 0 for first, last in gaps) else None


def is_counted_otherwise(one: Filled, facts: Facts) -> bool:
    """Whether what is counted goes into anything but a known index, so that it may have to stay below a bound."""
    known, flow, places = {read for seen in one.reads for read in seen.reads}, facts.flow, facts.flow.places
    index = index_parts(one.write.arguments.get("index"))[one.axis]
    assert isinstance(index, Value)
    counted = walk((index,), lambda value: operands_of(flow, value, _calculated))
    starts = [value for value in counted if places.within(places.region_of_value(value), one.loop.body)]
    for value in walk(starts, lambda value: ahead(flow, value, _counts_on)):
        for op in flow.readers.get(value, ()):
            if op not in known and op.name not in _COUNTING and op.name not in REMARKS and not op.regions:
                return True
    return False


def is_set_apart(one: Filled, place: int, facts: Facts) -> bool:
    """Whether an element at an end, 0 or -1, is set by itself, before the loop or after it."""
    flow, start = facts.flow, own_name(one.carried.start, facts)
    while (made := flow.maker(start)) is not None and made.name == "array.scatter" and (base := made.value("base")):
        if _is_at(made, place, one, facts):
            return True
        start = own_name(base, facts)
    return any(op.name == "array.scatter" and _is_at(op, place, one, facts) for op in _readers(one.result, facts))


def _is_at(op: Op, place: int, one: Filled, facts: Facts) -> bool:
    parts = index_parts(op.arguments.get("index"))
    return len(parts) > one.axis and _end(parts[one.axis], one, op, facts) == place


def _end(given: Argument, one: Filled, op: Op, facts: Facts) -> int | None:
    number = met(facts.get(Shapes), op, given).number if given is not None else None
    if number is None:
        return None
    if number.constant in (0, -1):
        return number.constant
    return -1 if (one.size - constant(1) - number).constant == 0 else None


def is_used_at(one: Filled, place: int, facts: Facts) -> bool:
    """Whether something after the loop has a use for the element at an end, 0 or -1."""
    counted = {read for seen in visited(facts) if _leaves_out(seen, place) for read in seen.reads}
    plain = REMARKS | {"array.shape", "array.at"}
    used = [op for op in _readers(one.result, facts) if op not in counted and op.name not in plain]
    returns, places = facts.flow.handed_back.get(one.result, ()), facts.places
    # What a function gives back is read by its callers, where they are in sight.
    unseen = any(not used or places.holder.get(id(places.region_of[op])) is None for op in returns)
    return unseen or any(not _cuts_off(op, one.axis, place) for op in used)


def _leaves_out(seen: Visited, place: int) -> bool:
    left = seen.after if place == -1 else seen.before
    return left is not None and left > 0


def _cuts_off(op: Op, axis: int, place: int) -> bool:
    """Whether an op takes a part of an array that the end does not belong to."""
    parts = index_parts(op.arguments.get("index")) if op.name == "py.item" else ()
    part = parts[axis] if len(parts) > axis else None
    if isinstance(part, int):
        return part != place
    bound = None if not isinstance(part, Mapping) else part.get("stop" if place == -1 else "start")
    return isinstance(bound, int) and (bound < 0 if place == -1 else bound > 0)


def _readers(value: Value, facts: Facts) -> Iterator[Op]:
    """Return the ops that read an array itself, under the names that calls and loops give it."""
    flow = facts.flow
    for name in walk((value,), lambda one: ahead(flow, one, nothing)):
        for op in flow.readers.get(name, ()):
            if not op.regions:
                yield op
