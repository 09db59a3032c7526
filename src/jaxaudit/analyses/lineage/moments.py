"""The time step that a value belongs to: which turn of the loop that made it, seen from where it is read.

A loop that steps something makes, in turn `t`, what the next turn starts from. What a turn was given is therefore what
the turn before made: recorded beside what this turn made, it is one step older. Slices (`x[1:]`), joins with one more
entry, `roll`, an index `x[t + 1]` and the carry of a loop that runs back through the steps shift it again. Followed
back through all of these, a value is so many steps ahead of, or behind, the turn it is read for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from jaxaudit.analyses.lineage.courses import Course, course
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import Context, appended
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.queries import behind, made_of, through_ops, walk
from jaxaudit.analyses.succession import own_loop
from jaxaudit.ir import REST, Argument, Op, Value
from jaxaudit.ir.interfaces import Branch, Call, Loop, Mapped, Turn
from jaxaudit.ir.ops import BODIES, KEEPING, LOOPS, MAPPED, MOVING
from jaxaudit.ir.record import record, replace
from jaxaudit.ir.values import index_parts, is_whole


@record
class Moment:
    """What a value is in the turn of the loop that made it, and how many steps later than that of its reader."""

    value: Value
    """What a turn makes; an array of steps where no loop is seen to make them."""
    path: tuple[str | int, ...] = ()
    """The names of attributes and entries that lead from it to the part that is meant."""
    loop: Op | None = None
    """What makes the steps, one in each turn; None where that is not seen."""
    shift: int = 0
    """How many steps later it was made than the step that it is read for."""
    counted: tuple[object, ...] = ()
    """What steps are counted from, where an index takes them: two can be compared if they are counted alike."""

    @property
    def series(self) -> tuple[object, ...]:
        """What all steps of it have in common."""
        return (self.loop, self.value, self.path)

    def is_beside(self, other: Moment) -> bool:
        """Whether the same loop made another value, so that their steps can be compared."""
        return self.loop is not None and self.loop is other.loop and self.counted == other.counted


def same_step(flow: Flow, values: Iterable[Value]) -> Iterator[Value]:
    """Return what values were computed from in their own step; what a turn was given was made by the one before.

    What only gives its shape does not count.
    """
    return walk(values, lambda one: same_parts(flow, one))


def same_parts(flow: Flow, one: Value) -> Sequence[Value]:
    """Return what a value was made of in its own step."""
    made = flow.maker(one)
    if made is not None:
        return () if made.name in ("array.shape", "array.create") else behind(flow, one)
    loop = flow.loop_of(one)
    at = None if loop is None else loop.position(loop.body, one)
    return behind(flow, one) if loop is None or at is None or at >= len(loop.body.results) else ()


@record
class _Place:
    """A value on its way back."""

    moment: Moment
    calls: Context

    def at(self, value: Value, *, later: int = 0, loop: Op | None = None, calls: Context | None = None) -> _Place:
        found = replace(self.moment, value=value, shift=self.moment.shift + later, loop=loop or self.moment.loop)
        return _Place(found, self.calls if calls is None else calls)

    def inside(self, whole: Value, name: str) -> _Place:
        return _Place(replace(self.moment, value=whole, path=(name, *self.moment.path)), self.calls)

    def counted(self, array: Value, *by: object, later: int = 0) -> _Place:
        found = replace(self.moment, value=array, shift=self.moment.shift + later)
        return _Place(replace(found, counted=(*found.counted, *by)), self.calls)


def moment(flow: Flow, value: Value, context: Context | None = None) -> Moment:
    """Follow a value back to the turn that made it."""
    if context:
        return _moment(flow, value, context)
    known = flow.table(moment)
    if value not in known:
        known[value] = _moment(flow, value, {})
    return known[value]


def _moment(flow: Flow, value: Value, context: Context) -> Moment:
    place, seen = _Place(Moment(value), context), set[Value]()
    while place.moment.value not in seen:
        seen.add(place.moment.value)
        made = flow.maker(place.moment.value)
        before = _given(flow, place) if made is None else _made(flow, made, place)
        if before is None:
            break
        place = before
    return place.moment


def _given(flow: Flow, place: _Place) -> _Place | None:
    """Go from a parameter to what it stands for: outside, or in the turn before."""
    param = place.moment.value
    region = flow.places.owner.get(param)
    op = None if region is None else flow.places.holder.get(id(region)) or place.calls.get(id(region))
    if region is None or op is None:
        return None
    if op.name in LOOPS:
        return _in_loop(flow, Loop(op), param, place)
    if (op.name in BODIES and len(region.params) == len(op.operands)) or op.name == "vmap":
        return place.at(op.operands[flow.position(region.params, param)])
    return None


def _in_loop(flow: Flow, loop: Loop, param: Value, place: _Place) -> _Place | None:
    array = next((given for one, given in loop.elements if one is param), None)
    if array is not None:
        # What is turned before it is scanned is counted in the order in which it was made.
        turn = Turn.of(Sums.of(flow, place.calls).maker(array))
        return place.at(array if turn is None else turn.base)
    following = next((end for one, end in loop.successors if one is param), None)
    if following is param:
        # What every turn hands on as it is was there before the first one.
        return next((place.at(one.start) for one in loop.carried if one.param is param), None)
    back = _runs_back(flow, loop, place.calls)
    return None if following is None or back is None else place.at(following, later=1 if back else -1)


def _runs_back(flow: Flow, loop: Loop, calls: Context) -> bool | None:
    """Whether later turns see earlier steps; a loop that goes through nothing makes the steps itself."""
    found = _course(flow, loop, calls)
    return False if found is None or not found.elements else found.backwards


def _course(flow: Flow, loop: Loop, calls: Context) -> Course | None:
    known, key = flow.table(_course), (loop.op, tuple(calls.items()))
    if key not in known:
        known[key] = course(loop.op, Sums.of(flow, calls))
    return known[key]


def _made(flow: Flow, op: Op, place: _Place) -> _Place | None:
    value = place.moment.value
    if op.name in KEEPING or op.name in ("array.move", "py.item"):
        return _moved(flow, op, place)
    if op.name == "array.gather" and (base := op.value("a")) is not None:
        return _gathered(flow, op, base, place)
    if op.name == "tree.map":
        return _mapped_leaf(flow, op, place)
    if op.name == "py.attr" and op.operands and op.label is not None:
        return place.inside(op.operands[0], op.label)
    if op.name == "array.join":
        return _joined(flow, op, place)
    if op.name in BODIES and op.regions:
        inside = Call(op).inside(flow.position(op.results, value))
        return None if inside is None else place.at(inside, calls={**place.calls, id(op.regions[0]): op})
    if op.name == "scan":
        return _left(flow, op, place)
    if op.name in MAPPED:
        return next((place.at(one) for one, array in Mapped(op).stacked if array is value), None)
    return _chosen(flow, op, place) if op.name == "py.branch" else None


def _gathered(flow: Flow, op: Op, base: Value, place: _Place) -> _Place | None:
    """Go from some rows of an array to all of them; who takes the same rows can be compared."""
    rows = op.value("indices")
    return None if rows is None else place.counted(base, Sums.of(flow, place.calls).source(rows), op.argument("axis"))


def _mapped_leaf(flow: Flow, op: Op, place: _Place) -> _Place | None:
    """Go from a leaf of a tree whose leaves were only moved to the same leaf before; the same move counts alike."""
    tree = flow.maker(op.operands[0]) if len(op.operands) == 1 else None
    at = flow.position(op.results, place.moment.value) - 1
    if tree is None or tree.name != "py.container" or len(op.results) != len(tree.operands) + 1 or at < 0:
        return None
    param, end = op.regions[0].params[:1], op.regions[0].results[:1]
    moved = bool(param and end) and made_of(flow, end[0], through_ops(*MOVING, "array.gather")) is param[0]
    inside = moment(flow, end[0], place.calls) if moved else None
    if inside is not None and inside.value is param[0] and not inside.path:
        return place.counted(tree.operands[at], *inside.counted, later=inside.shift)
    return place.counted(tree.operands[at], op) if moved else None


def _left(flow: Flow, op: Op, place: _Place) -> _Place | None:
    """Go from what a scan gives to what its turns made: each of them, or the last one."""
    at, results = flow.position(op.results, place.moment.value), op.regions[0].results
    if at >= len(results) or len(results) != len(op.results):
        return None
    last = at < (op.carry or 0)
    return place.at(results[at], loop=op) if not last else place.counted(results[at], "last", op)


def _chosen(flow: Flow, op: Op, place: _Place) -> _Place | None:
    """Go from a choice between an element and what stands behind the last one to the element."""
    at = flow.position(op.results, place.moment.value)
    arms = [region.results[at] for region in Branch(op).arms if at < len(region.results)]
    inside = [one for one in arms if (made := flow.maker(one)) is not None and flow.holder(made) is op]
    return place.at(inside[0]) if len(inside) == 1 and len(arms) == 2 else None


def _moved(flow: Flow, op: Op, place: _Place) -> _Place | None:
    base = op.operands[0] if op.operands else None
    if base is None:
        return None
    if op.name == "array.move":
        given = op.arguments.get("shift")
        rolled = op.function == "roll" and isinstance(given, int) and op.arguments.get("axis", 0) == 0
        return place.at(base, later=-given) if rolled and isinstance(given, int) else None
    return _taken(flow, op, base, place) if op.name == "py.item" else place.at(base)


def _taken(flow: Flow, op: Op, base: Value, place: _Place) -> _Place | None:
    """Go from a part of an array or a record to the whole."""
    index = op.arguments.get("index")
    if isinstance(index, str):
        return place.inside(base, index)
    places = [
        (at, one) for at, one in enumerate(index_parts(index)) if not (one is None or one == REST or is_whole(one))
    ]
    if not places:
        return place.at(base)
    if len(places) > 1 or places[0][0] > 0:
        return None
    part = places[0][1]
    if isinstance(part, Mapping):
        start = part.get("start") or 0
        whole = isinstance(start, int) and start >= 0 and part.get("step") in (None, 1)
        return place.at(base, later=start) if whole and isinstance(start, int) else None
    return _indexed(flow, op, base, part, place)


def _indexed(flow: Flow, op: Op, base: Value, part: Argument, place: _Place) -> _Place | None:
    """Go from `x[t + 1]` to `x`, one step later than what it is read for; from `x[rows]` to what the rows are of."""
    loop = own_loop(flow, op)
    found = None if loop is None else _course(flow, loop, place.calls)
    seen = None if found is None else found.elements.get(op.results[0])
    if seen is not None and seen.counter is not None and seen.ahead == int(seen.ahead):
        return place.counted(base, seen.counter, seen.base, later=int(seen.ahead))
    if not isinstance(part, Value):
        return None
    return place.counted(base, Sums.of(flow, place.calls).source(part))


def _joined(flow: Flow, op: Op, place: _Place) -> _Place | None:
    """Go from what a loop appended to a list, or from an array that one entry was added to, to what it is made of."""
    listed = op.value("arrays") or (op.operands[0] if len(op.operands) == 1 else None)
    made = None if listed is None else flow.maker(listed)
    if made is not None and listed is not None and made.name in LOOPS:
        value = appended(flow, made, listed)
        return None if value is None else place.at(value, loop=made)
    for at, part in enumerate(op.operands[:2]):
        cut = Sums.of(flow, place.calls).maker(part)
        window = index_parts(cut.arguments.get("index"))[:1] if cut is not None and cut.name == "py.item" else ()
        bounds = window[0] if window and isinstance(window[0], Mapping) else {}
        start, stop = bounds.get("start"), bounds.get("stop")
        if cut is None or bounds.get("step") not in (None, 1) or len(op.operands) != 2:
            continue
        if at == 0 and isinstance(start, int) and start > 0 and stop is None:
            return place.at(cut.operands[0], later=start)
        if at == 1 and isinstance(stop, int) and stop < 0 and start in (None, 0):
            return place.at(cut.operands[0], later=stop)
    return None
