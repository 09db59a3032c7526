"""Which way an axis runs: arrays that were turned back to front, gone through one by one, and met by others.

What goes through an axis step by step gives its results in the order of what it was given: turned arrays give turned
results. Scans, cumulative functions, layers that unroll a cell and Python's own loops are all the same here. An axis is
followed forward, with what such a recurrence makes of it, up to where it is turned again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from jaxaudit.analyses.axes.slots import Slot, backward, onward, origins, slot
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import readers, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import ARRAYS_OF_ITEMS, LINEAR, UNROLLING_LAYERS
from jaxaudit.ir.interfaces import Loop, Recurrence, Turn
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.ir.record import record

_REORDERING = ("array.order", "key.draw")


@record
class Course:
    """An axis, and what has gone through it step by step; None before something has."""

    slot: Slot
    by: Op | None = None


@record
class Meeting:
    """An op in which an axis that was turned meets itself unturned, after something has gone through it."""

    op: Op
    turned: Course
    is_sure: bool
    """Whether the other array surely has the axis as it was; else it is one that the same function was given."""


def courses(facts: Facts, starts: Iterable[Slot]) -> Iterator[Course]:
    """Return every array that has some axis running the way it does, with what went through it."""
    return walk([Course(one) for one in starts], lambda course: _further(facts, course))


def _further(facts: Facts, course: Course) -> Iterator[Course]:
    for op, made in onward(facts, course.slot):
        if op is None or not (op.name in _REORDERING or is_turn(facts, op, course.slot)):
            by = op if op is not None and _goes_along(facts, op, course.slot) else course.by
            yield Course(made, by)
    for op in facts.flow.readers.get(course.slot.value, ()):
        yield from _gone_through(facts, op, course)


def is_turn(facts: Facts, op: Op, one: Slot) -> bool:
    """Whether an op turns this very axis."""
    turn = Turn.of(op)
    return turn is not None and turn.base is one.value and slot(turn.base, turn.axis, facts.get(Shapes)) == one


def _goes_along(facts: Facts, op: Op, one: Slot) -> bool:
    """Whether a cumulative function runs along this axis, or may where one of both is counted from the back."""
    view = Recurrence.of(op) if op.name == "array.scan" else None
    if view is None or view.axis is None or one.place is None:
        return view is not None
    other = slot(one.value, view.axis, facts.get(Shapes))
    return other is None or other.place is None or other == one or (other.place < 0) is not (one.place < 0)


def _gone_through(facts: Facts, op: Op, course: Course) -> Iterator[Course]:
    """Return what an op that takes the elements along an axis one by one gives for all of them."""
    one = course.slot
    if op.name in ("scan", "associative_scan") and one.place == 0:
        view = Recurrence.of(op)
        if view is not None and one.value in view.elements:
            yield from (Course(Slot(value, 0), op) for value in view.stacked)
    elif op.name == "py.element" and one.place == 0 and op.argument("iterable") is one.value:
        yield from (Course(Slot(value, 0), op) for value in _collected(facts, op))
    elif op.name == "array.join" and op.argument("arrays") is one.value and one.place == 0:
        axis = op.argument("axis")
        yield Course(Slot(op.result, axis if isinstance(axis, int) else 0), course.by)
    elif op.function in ARRAYS_OF_ITEMS and one.place == 0:
        yield Course(Slot(op.result, 0), course.by)
    elif op.qualified in UNROLLING_LAYERS and one.place in (1, -2):
        yield Course(Slot(op.result, one.place), op)


def _collected(facts: Facts, element: Op) -> Iterator[Value]:
    """Return the lists to which a loop of Python adds something in each turn, at their end."""
    holder = facts.flow.holder(element)
    loop = None if holder is None else Loop.of(holder)
    if loop is None or len(loop.op.results) != len(loop.body.results):
        return
    for one in loop.carried:
        ends = loop.body.results[one.position : one.position + 1]
        maker = facts.flow.maker(ends[0]) if ends else None
        if maker is not None and maker.name == "py.append" and maker.method == "append":
            yield loop.op.results[one.position]


def sources(facts: Facts, start: Slot) -> Iterator[Slot]:
    """Return the arrays that an axis comes from, running the same way."""
    return walk((start,), lambda one: _before(facts, one))


def _before(facts: Facts, one: Slot) -> Iterator[Slot]:
    op = facts.flow.own_maker(one.value)
    if op is None or (op.regions and op.name != "scan"):
        yield from backward(facts, one)
    elif op.name == "scan":
        view = Recurrence.of(op) if one.place == 0 else None
        if view is not None and one.value in view.stacked:
            yield from (Slot(value, 0) for value in (*view.elements, *view.stacked))
    elif Turn.of(op) is None and op.name not in _REORDERING:
        known = facts.memo(origins, op)[op.results.index(one.value)] is not None
        if known:
            yield from backward(facts, one)
        elif len(op.operands) == 1 and (op.name in PASSED_ON or op.name == "array.map"):
            yield Slot(op.operands[0], one.place)


def meeting(facts: Facts, turn: Op) -> Meeting | None:
    """Return the first op in which what was made of a turned axis step by step meets the axis as it was."""
    view, shapes = Turn.of(turn), facts.get(Shapes)
    start = None if view is None else slot(view.base, view.axis, shapes)
    after = None if view is None else slot(turn.result, view.axis, shapes)
    if start is None or after is None:
        return None
    turned = dict.fromkeys(courses(facts, (after,)))
    if all(course.by is None for course in turned):
        return None
    slots = {course.slot for course in turned}
    before = [*sources(facts, start)]
    plain = {course.slot for course in courses(facts, before)} - slots
    met = [
        (course, op, others)
        for course in turned
        if course.by is not None and course.slot not in plain
        for op in facts.flow.readers.get(course.slot.value, ())
        if (others := [*beside(facts, op, course.slot)]) and not _is_forgotten(facts, op, course.slot)
    ]
    met.sort(key=lambda one: facts.places.order[one[1]])
    sure = (Meeting(op, course, True) for course, op, others in met if not plain.isdisjoint(others))
    kin = (
        Meeting(op, course, False)
        for course, op, others in met
        if any(one not in slots and _is_kin(facts, one, before) for one in others)
    )
    return next(sure, None) or next(kin, None)


def undone(facts: Facts, turn: Op) -> tuple[Op, Op] | None:
    """Return what turns an axis back that nothing has gone through since, and what went along another one meanwhile.

    Turning commutes with all that happens along other axes, so that both turns might as well be left out. Where
    something that was not turned met the axis between them, they may be for that.
    """
    view, shapes = Turn.of(turn), facts.get(Shapes)
    after = None if view is None else slot(turn.result, view.axis, shapes)
    if after is None:
        return None
    untouched = {course.slot for course in courses(facts, (after,)) if course.by is None}
    read = [(one, op) for one in untouched for op in facts.flow.readers.get(one.value, ())]
    along = (op for _, op in read if op.name == "array.scan" and Recurrence.of(op) is not None)
    across = next((op for op in along if any(one.value is op.result for one in untouched)), None)
    back = next((op for one, op in read if is_turn(facts, op, one)), None)
    if across is None or back is None:
        return None
    return None if any(not untouched.issuperset(beside(facts, op, one)) for one, op in read) else (back, across)


def beside(facts: Facts, op: Op, one: Slot) -> Iterator[Slot]:
    """Return the axes of other operands that an op takes together with one, element by element."""
    if not (op.name in ("array.map", "array.select", "array.join", "array.dot") or op.loss) or _joins_along(op, one):
        return
    axes = facts.memo(origins, op)[0]
    if axes is not None:
        yield from (other for axis in axes if one in axis for other in axis if other.value is not one.value)
    elif op.name != "array.dot":
        yield from (Slot(value, one.place) for value in op.operands if value is not one.value)


def _is_kin(facts: Facts, one: Slot, others: Iterable[Slot]) -> bool:
    """Whether an array surely has this axis and was given to the function that some others were given to."""
    owners = facts.places.owner
    homes = {id(region) for other in others if (region := owners.get(other.value)) is not None}
    mine = [before for before in sources(facts, one) if (region := owners.get(before.value)) and id(region) in homes]
    shapes = facts.get(Shapes)
    return any(shapes.of(before.value).rank or _is_taken_apart(facts, before) for before in mine)


def _is_taken_apart(facts: Facts, one: Slot) -> bool:
    """Whether single places or stretches of an array are read along its first axis."""
    indices = (op.argument("index") for op in readers(facts.flow, one.value) if op.name == "py.item")
    return one.place == 0 and any(isinstance(index, (int, Mapping)) for index in indices)


def _joins_along(op: Op, one: Slot) -> bool:
    """Whether arrays are put one behind the other along this axis."""
    return op.name == "array.join" and op.function != "stack" and op.argument("axis") in (None, one.place)


def _is_forgotten(facts: Facts, op: Op, one: Slot) -> bool:
    """Whether nothing is read of what an op makes but sums, means and single places along an axis.

    The last entries of both directions are one pair, and what is averaged over all places has no order.
    """
    separate = op.name == "array.join" or op.function in LINEAR
    results = [made for by, made in onward(facts, one) if by is op] or [Slot(op.result, one.place)]
    uses = [(made, by) for made in results for by in facts.flow.readers.get(made.value, ())]
    given_away = any(made.value in facts.flow.leaving for made in results)
    ends = ("array.reduce", "py.item") if separate else ("py.item",)
    return bool(uses) and not given_away and all(by.name in ends and _drops(facts, by, made) for made, by in uses)


def _drops(facts: Facts, op: Op, one: Slot) -> bool:
    axes = facts.memo(origins, op)[0]
    if axes is not None:
        return not any(one in axis for axis in axes)
    index = op.argument("index")
    first = index[0] if isinstance(index, tuple) and index else index
    return isinstance(first, int) if op.name == "py.item" else op.argument("axis") in (None, one.place)
