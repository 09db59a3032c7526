"""Meetings that are mistakes: two axes that are different things meet, and something shows where the fitting one is.

Different names alone decide nothing: people give one thing two names. What decides is the axis that would have fitted:
it stands elsewhere in the same operand, or a `vmap` or `scan` took another axis and left it behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum

from jaxaudit.analyses.axes.meetings import MEETING, Meeting, Side, meetings, taken_sides, written
from jaxaudit.analyses.axes.threads import Thread, threads_of
from jaxaudit.analyses.dims import ONE, Dim, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import Label, Labels, contradiction, named, related
from jaxaudit.analyses.paths import Places
from jaxaudit.analyses.queries import walk
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.literals import axes_in
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.ir import Op, Value
from jaxaudit.ir.record import record

_REDUCING = ("array.reduce", "array.order")


class Cause(Enum):
    """How two axes that are different things came to meet."""

    MISPLACED = "the fitting axis stands elsewhere in the operand"
    DECLARED = "both names were written down as those of the axes"
    NESTED = "nested vmaps put their axes in the other order"
    PLACED = "a vmap put its axis elsewhere than it is used"
    MAPPED = "a vmap took the wrong axis and left the fitting one to the function"
    SCANNED = "a scan took the wrong axis and left the fitting one to its body"
    REDUCED = "a reduction took the fitting axis away and left another"
    KEPT = "a statistic keeps an axis that is another where it is used, and averages one that is the same"
    STACKED = "one of two axes that are mapped together was stacked by another vmap"
    TOGETHER = "two axes are mapped or scanned together, and their sizes agree by chance"
    JOINED = "arrays are put one after the other along the axis that they have in common"
    BLENDED = "two axes were lined up by chance, and what they go to has both of them"
    CHANCE = "only the sizes agree"


@record
class Conflict:
    """A meeting of two axes that are different things."""

    meeting: Meeting
    cause: Cause
    left: Label
    right: Label
    blamed: Op
    """Where the mistake is."""
    astray: Side
    """The axis that should not have been there."""
    fitting: tuple[Value, int] | None = None
    """The operand and the place of the axis that would have fitted."""


@record
class Judge:
    """Decides what a meeting is."""

    places: Places
    shapes: Shapes

    def judge(self, meeting: Meeting) -> Conflict | None:
        """Return the conflict that a meeting is; None where the axes may be one thing."""
        names = contradiction(meeting.left.dim.labels, meeting.right.dim.labels)
        if names is None:
            return self._blended(meeting) or self._foreign(meeting) or self._unnamed(meeting)
        for left, right in ((meeting.left, meeting.right), (meeting.right, meeting.left)):
            for look in (self._elsewhere, self._left_behind, self._taken_away, self._reduced_away, self._kept):
                found = look(meeting, left, right, names)
                if found is not None:
                    return found
        return Conflict(meeting, _plain_cause(meeting, names), *names, meeting.op, meeting.left)

    def _elsewhere(self, meeting: Meeting, astray: Side, other: Side, names: tuple[Label, Label]) -> Conflict | None:
        """Another axis of the same operand is what the other operand has."""
        for place, dim in astray.others:
            if not related(dim.labels, other.dim.labels) or _meets_again(meeting, astray, place):
                continue
            fitting = (astray.value, place)
            outer = nested(self.places, dim.labels, astray.dim.labels)
            if outer is not None and meeting.how in ("elementwise", "contracted"):
                return Conflict(meeting, Cause.NESTED, *names, outer, astray, fitting)
            placed = meeting.how == "elementwise" and len(astray.dims) == len(other.dims) and _swapped(astray, other)
            cause = Cause.PLACED if placed and any(_makers("vmap", dim.labels)) else Cause.MISPLACED
            return Conflict(meeting, cause, *names, meeting.op, astray, fitting)
        return None

    def _blended(self, meeting: Meeting) -> Conflict | None:
        """An axis that is two things meets one of them, and the other one is an axis of that array too."""
        for astray, other in ((meeting.left, meeting.right), (meeting.right, meeting.left)):
            for place, dim in other.others if meeting.how == "elementwise" else ():
                names = _both(astray.dim, other.dim, dim)
                if names is None or any(related(one.labels, dim.labels) for _, one in astray.others):
                    continue
                blamed = self._lined_up(astray, names)
                if blamed is not None:
                    return Conflict(meeting, Cause.BLENDED, *names, blamed, astray, (other.value, place))
        return None

    def _lined_up(self, astray: Side, names: tuple[Label, Label]) -> Op | None:
        """Return the op that made one axis of two with these names."""

        def before(value: Value) -> tuple[Value, ...]:
            op = self.places.maker.get(value)
            return () if op is None or op.regions else op.operands

        def has_both(value: Value) -> bool:
            return any({*names} <= dim.labels for dim in self.shapes.of(value).dims or ())

        for value in walk((astray.value,), lambda value: filter(has_both, before(value))):
            if has_both(value) and not any(map(has_both, before(value))):
                return self.places.maker.get(value)
        return None

    def _foreign(self, meeting: Meeting) -> Conflict | None:
        """A vector lands on an axis whose name is from elsewhere, beside the very axis that it was made for."""
        low, high = sorted((meeting.left, meeting.right), key=lambda side: len(side.dims))
        ours, theirs = ({*named(side.dim.labels)} for side in (low, high))
        if len(low.dims) != 1 or not ours or not theirs or related(low.dim.labels, high.dim.labels):
            return None
        if not any(ours & dim.labels for _, dim in high.others):
            return None
        names = (min(ours, key=lambda one: one.name), min(theirs, key=lambda one: one.name))
        return self._elsewhere(meeting, high, low, names)

    def _unnamed(self, meeting: Meeting) -> Conflict | None:
        """A named axis is broadcast along one that a loop or map made, beside the axis that has its name."""
        low, high = sorted((meeting.left, meeting.right), key=lambda side: len(side.dims))
        made = next((label for label in high.dim.labels if label.kind in ("scan", "vmap")), None)
        name = next(named(low.dim.labels), None)
        if made is None or name is None or any(named(high.dim.labels)) or len(low.dims) != 1 < len(high.dims):
            return None
        return self._elsewhere(meeting, high, low, (name, replace(made, name=f"what {made.kind} made")))

    def _left_behind(self, meeting: Meeting, astray: Side, other: Side, names: tuple[Label, Label]) -> Conflict | None:
        """The op that made this axis took it off an array that has the fitting one as well."""
        for op in _makers("vmap", astray.dim.labels):
            for context in self.shapes.contexts(op):
                found = _untaken(op, context, astray.dim, other.dim)
                if found is not None:
                    return Conflict(meeting, Cause.MAPPED, *names, op, astray, found)
        return None

    def _taken_away(self, meeting: Meeting, astray: Side, other: Side, names: tuple[Label, Label]) -> Conflict | None:
        """The body sees this axis because the `vmap` or `scan` around it took the fitting one."""
        for op in self._around(meeting.op):
            cause = Cause.SCANNED if op.name == "scan" else Cause.MAPPED
            for context in self.shapes.contexts(op):
                found = _untaken(op, context, other.dim, astray.dim)
                if found is not None:
                    return Conflict(meeting, cause, *names, op, astray, None)
        return None

    def _reduced_away(self, meeting: Meeting, astray: Side, other: Side, names: tuple[Label, Label]) -> Conflict | None:
        """The axis is what a reduction left of an array that had the fitting one as well."""
        for op in self._reductions(astray) if meeting.how in ("elementwise", "contracted") else ():
            for context in self.shapes.contexts(op):
                found = _reduced(op, context, astray.dim, other.dim)
                if found is not None:
                    left, taken = found
                    dims = context.of(op.operands[0]).dims or ()
                    outer = nested(self.places, dims[left].labels, dims[taken].labels)
                    cause = Cause.REDUCED if outer is None else Cause.NESTED
                    return Conflict(meeting, cause, *names, outer or op, astray, (op.operands[0], taken))
        return None

    def _kept(self, meeting: Meeting, astray: Side, other: Side, names: tuple[Label, Label]) -> Conflict | None:
        """The axis is what a statistic kept, which took away one behind it that both arrays have."""
        elementwise = meeting.how == "elementwise" and len(astray.dims) == len(other.dims)
        for op in self._reductions(astray) if elementwise else ():
            for context in self.shapes.contexts(op):
                dims, axes = context.of(op.operands[0]).dims or (), axes_in(op.arguments.get("axis")) or ()
                taken = {place_of(axis, len(dims)) for axis in axes}
                behind = range(astray.place + 1, len(dims)) if len(dims) == len(other.dims) else ()
                shared = [at for at in behind if at in taken and same(dims[at], other.dims[at]) and dims[at] != ONE]
                if shared and op.arguments.get("keepdims") is True:
                    return Conflict(meeting, Cause.KEPT, *names, op, astray, (op.operands[0], shared[0]))
        return None

    def _reductions(self, astray: Side) -> list[Op]:
        """Return the reductions that an axis has come through, the last one first."""
        ways = walk((astray.value,), lambda value: self._same_axis(value, astray.dim.labels))
        made = (self.places.maker.get(value) for value in ways)
        return [op for op in made if op is not None and op.name in _REDUCING and op.operands]

    def _same_axis(self, value: Value, labels: Labels) -> tuple[Value, ...]:
        """Return the value that another one has an axis from."""
        op = self.places.maker.get(value)
        if op is None or not op.operands:
            return ()
        if op.name == "py.call" and len(op.results) == len(op.regions[0].results):
            return (op.regions[0].results[op.results.index(value)],)
        index = op.arguments.get("index") if op.name == "py.item" else None
        if isinstance(index, Value):
            # The rows that an array of indices chooses stand where the indices stood.
            return (index,)
        if op.name in _REDUCING:
            return op.operands[:1]
        known = {one: self.shapes.of(one).dims or () for one in op.operands}
        having = tuple(one for one, dims in known.items() if any(related(dim.labels, labels) for dim in dims))
        return having if op.name in ("array.map", "array.convert") and len(having) == 1 else ()

    def _around(self, op: Op) -> Iterator[Op]:
        """Return the maps and scans that an op stands in, from the inside out."""
        region = self.places.region_of.get(op)
        holders = () if region is None else (holder for _, holder in self.places.up(region))
        yield from (one for one in holders if one is not None and one.name in ("vmap", "scan"))


def _both(blend: Dim, here: Dim, there: Dim) -> tuple[Label, Label] | None:
    """Return the names of two axes, the one here and the other there, that a third one has; None where it has not."""
    ours = [label for label in named(blend.labels) if label in here.labels and label not in there.labels]
    theirs = [label for label in named(blend.labels) if label in there.labels and label not in here.labels]
    pairs = (
        (a, b)
        for a in theirs
        for b in ours
        if (a.kind, a.scope) == (b.kind, b.scope) and not related(here.labels, there.labels)
    )
    return min(pairs, key=lambda pair: (pair[0].name, pair[1].name), default=None)


def nested(places: Places, first: Labels, second: Labels) -> Op | None:
    """Return the outer one of two vmaps that made two axes, where the one stands in the other."""
    for outer in _makers("vmap", first):
        for inner in _makers("vmap", second):
            region = places.region_of.get(inner)
            if region is not None and places.holder.get(id(region)) is outer:
                return outer
    return None


def _swapped(astray: Side, other: Side) -> bool:
    """Whether the axis that should not be here is what the other operand has elsewhere."""
    return any(related(dim.labels, astray.dim.labels) for _, dim in other.others)


def _makers(kind: str, labels: Labels) -> Iterator[Op]:
    return (label.op for label in labels if label.kind == kind and label.op is not None)


def _untaken(op: Op, context: Context, taken: Dim, wanted: Dim) -> tuple[Value, int] | None:
    """Return an operand whose taken axis is the one, and an axis of it that was left and is the other."""
    for side in taken_sides(op, context.of):
        if not related(side.dim.labels, taken.labels) or related(side.dim.labels, wanted.labels):
            continue
        for place, dim in enumerate(side.dims):
            if place != side.place and related(dim.labels, wanted.labels):
                return side.value, place
    return None


def _reduced(op: Op, context: Context, left: Dim, wanted: Dim) -> tuple[int, int] | None:
    """Return the place of an axis that a reduction leaves, and that of the wanted one that it takes away."""
    dims, axes = context.of(op.operands[0]).dims, axes_in(op.arguments.get("axis"))
    if dims is None or axes is None:
        return None
    taken = [place for axis in axes if (place := place_of(axis, len(dims))) is not None]
    fitting = next((place for place in taken if related(dims[place].labels, wanted.labels)), None)
    kept = (place for place, dim in enumerate(dims) if place not in taken and related(dim.labels, left.labels))
    there = next(kept, None)
    return None if fitting is None or there is None else (there, fitting)


def _meets_again(meeting: Meeting, astray: Side, place: int) -> bool:
    """Whether the axis that would have fitted meets its own kind in the same op already."""
    if meeting.how != "elementwise":
        return False
    other = meeting.left if astray is meeting.right else meeting.right
    shifted = other.place + place - astray.place
    dims = other.dims
    return 0 <= shifted < len(dims) and related(dims[shifted].labels, astray.dims[place].labels)


def _plain_cause(meeting: Meeting, names: tuple[Label, Label]) -> Cause:
    if all(label.kind == "declared" for label in names):
        return Cause.DECLARED
    if meeting.how not in ("mapped", "scanned"):
        return Cause.JOINED if _is_joined_along_shared(meeting) else Cause.CHANCE
    stacked = [bool(list(_makers("vmap", side.dim.labels))) for side in (meeting.left, meeting.right)]
    return Cause.STACKED if meeting.how == "mapped" and any(stacked) and not all(stacked) else Cause.TOGETHER


def _is_joined_along_shared(meeting: Meeting) -> bool:
    """Whether two arrays are concatenated along an axis that is one thing in both, and meet along another one."""
    op, first, second = meeting.op, meeting.left.dims, meeting.right.dims
    axis = op.arguments.get("axis", 0)
    joined = op.name == "array.join" and op.function == "concatenate" and isinstance(axis, int)
    place = place_of(axis, len(first)) if joined and isinstance(axis, int) else None
    return place is not None and len(first) == len(second) and related(first[place].labels, second[place].labels)


def is_named(meeting: Meeting) -> bool:
    """Whether both axes have names, so that there is something to compare."""
    return all(any(named(side.dim.labels)) for side in (meeting.left, meeting.right))


def met(op: Op, shapes: Shapes) -> Iterator[Meeting]:
    """Return every meeting of axes in an op of which one has a name, in every context."""
    for context in shapes.contexts(op):
        for meeting in meetings(op, context):
            if any(any(named(side.dim.labels)) for side in (meeting.left, meeting.right)):
                yield meeting


@record
class Axes:
    """The meetings of named axes, those of them that are mistakes, and the way of each axis."""

    agreed: Mapping[Op, Meeting]
    """Ops where all axes that meet are one thing, with one of the meetings."""
    conflicts: Sequence[Conflict]
    threads: Sequence[Thread]
    places: Places

    def caused(self, *causes: Cause) -> list[Conflict]:
        """Return the conflicts that came about in one of these ways."""
        return [conflict for conflict in self.conflicts if conflict.cause in causes]


def axes_of(facts: Facts) -> Axes:
    """Judge every meeting of axes, in one walk over the program."""
    program, places, shapes = facts.program, facts.places, facts.get(Shapes)
    if shapes.look is not None:
        # Exact types without names: no axis has a name that could meet another.
        return Axes({}, (), (), places)
    judge = Judge(places, shapes)
    agreed: dict[Op, Meeting] = {}
    conflicts: list[Conflict] = []
    for op in program.named(*MEETING):
        meetings = (written(places, meeting) for meeting in met(op, shapes))
        found = [(meeting, judge.judge(meeting)) for meeting in meetings]
        conflicts.extend(conflict for _, conflict in found if conflict is not None)
        compared = [meeting for meeting, _ in found if is_named(meeting)]
        # Names of different scopes neither contradict each other nor say that both are one thing.
        agree = all(related(one.left.dim.labels, one.right.dim.labels) for one in compared)
        if compared and agree and all(conflict is None for _, conflict in found):
            agreed[op] = compared[0]
    return Axes(agreed, conflicts, threads_of(program, shapes), places)
