"""Meetings that are mistakes: two axes that are different things meet, and something shows where the fitting one is.

Different names alone decide nothing: people give one thing two names. What decides is the axis that would have fitted:
it stands elsewhere in the same operand, or a `vmap` or `scan` took another axis and left it behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from jaxaudit.analyses.axes.meetings import MEETING, Meeting, Side, meetings, taken_sides, written
from jaxaudit.analyses.axes.threads import Thread, threads_of
from jaxaudit.analyses.dims import ONE, UNKNOWN, Dim, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import Label, Labels, contradiction, in_lines, named, related
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.paths import Places
from jaxaudit.analyses.queries import behind, depends, nothing, through_ops, walk
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.literals import axes_in, literal
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.analyses.shapes.regions import scan_length
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import Loop, Mapped
from jaxaudit.ir.record import record, replace
from jaxaudit.ir.values import index_parts, is_whole

_REDUCING = ("array.reduce", "array.order")
_AROUND = frozenset(("vmap", "scan", "fori", "py.loop"))
_MODELS = ("tree.other", "tree.leaf", "py.unpack", "py.item", "py.attr")
"""What takes a model apart, and puts it together."""
_MAKING = ("ordered", "alike", "scan", "vmap")
"""The labels that tell which op made an axis, so that two with the same are one."""


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
    WHOLE = "a loop or map goes over one of them, and its body is given all of it"
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


_LIKELY = (Cause.NESTED, Cause.PLACED, Cause.MISPLACED)
"""Of two arrays with their axes in different orders, which one is to blame."""


@record
class Judge:
    """Decides what a meeting is."""

    flow: Flow
    shapes: Shapes

    @property
    def places(self) -> Places:
        """Where each op stands."""
        return self.flow.places

    def judge(self, meeting: Meeting) -> Conflict | None:
        """Return the conflict that a meeting is; None where the axes may be one thing."""
        names = contradiction(meeting.left.dim.labels, meeting.right.dim.labels)
        if names is None:
            looks = (self._crossed, self._blended, self._foreign, self._unnamed)
            return next((found for look in looks if (found := look(meeting)) is not None), None)
        for look in _LOOKS:
            for left, right in ((meeting.left, meeting.right), (meeting.right, meeting.left)):
                found = look(self, meeting, left, right, names)
                if found is not None:
                    return found
        return Conflict(meeting, _plain_cause(meeting, names), *names, meeting.op, meeting.left)

    def _elsewhere(self, meeting: Meeting, astray: Side, other: Side, names: tuple[Label, Label]) -> Conflict | None:
        """Another axis of the same operand is what the other operand has."""
        for place, dim in astray.others:
            if not related(dim.labels, other.dim.labels) or _meets_again(meeting, astray, place):
                continue
            placed = meeting.how == "elementwise" and len(astray.dims) == len(other.dims) and _swapped(astray, other)
            return self._standing(meeting, astray, place, names, placed=placed)
        return None

    def _standing(
        self, meeting: Meeting, astray: Side, place: int, names: tuple[Label, Label], *, placed: bool
    ) -> Conflict:
        """Return the conflict of an axis that stands where another one of its array would fit."""
        dim, fitting = astray.dims[place], (astray.value, place)
        pair = (dim.labels, astray.dim.labels)
        outer = nested(self.places, *pair) or nested(self.places, *reversed(pair))
        if outer is not None and meeting.how in ("elementwise", "contracted"):
            return Conflict(meeting, Cause.NESTED, *names, outer, astray, fitting)
        cause = Cause.PLACED if placed and any(_makers("vmap", dim.labels)) else Cause.MISPLACED
        return Conflict(meeting, cause, *names, meeting.op, astray, fitting)

    def _crossed(self, meeting: Meeting) -> Conflict | None:
        """Two axes of one array meet those very axes of another one in the other order, whatever they are called."""
        left, right = meeting.left, meeting.right
        if (
            meeting.how != "elementwise"
            or len(left.dims) != len(right.dims)
            or not _is_crossed(left, right, left.place)
        ):
            return None
        crossed = (at for at, _ in left.others if _is_pair(left, right, left.place, at))
        place = next(crossed, None)
        if place is None or self._is_turned(left.value, right.value):
            return None
        names = (_by_maker(left.dim.labels), _by_maker(right.dim.labels))
        found = [self._standing(meeting, side, place, names, placed=True) for side in (left, right)]
        return min(found, key=lambda one: _LIKELY.index(one.cause))

    def _is_turned(self, first: Value, second: Value) -> bool:
        """Whether one array is the other one transposed, as in what makes a matrix symmetric."""
        roots = [{*walk((one,), self._rearranged)} for one in (first, second)]
        return not roots[0].isdisjoint(roots[1])

    def _rearranged(self, value: Value) -> Sequence[Value]:
        return behind(self.flow, value, through_ops("array.permute"))

    def _given_whole(self, meeting: Meeting, astray: Side, other: Side, names: tuple[Label, Label]) -> Conflict | None:
        """A loop or map goes over this axis, and its body reads all of it from outside."""
        for op in self._around(meeting.op):
            over = self._turns(op).labels
            if related(over, astray.dim.labels) and not related(over, other.dim.labels):
                whole = self._read_whole(op, astray, over)
                if whole is not None and depends(self.flow, other.value, op.regions[-1].params):
                    return Conflict(meeting, Cause.WHOLE, *names, op, astray, whole)
        return None

    def _read_whole(self, op: Op, astray: Side, over: Labels) -> tuple[Value, int] | None:
        """Return what a value has an axis from, where a body reads that from outside, and the place of the axis."""
        inside = op.regions[-1].params
        having = [*walk((astray.value,), lambda one: self._having(one, over))]
        outside = () if any(one in inside for one in having) else having
        found = [one for one in outside if not depends(self.flow, one, inside)]
        whole = next((one for one in found if one.name), next(iter(found), None))
        # Where a loop hands an array on, its axis has its name in the first turn alone.
        known = astray.dims if whole is astray.value else () if whole is None else self.shapes.of(whole).dims
        dims = enumerate(known or ())
        place = next((at for at, dim in dims if related(dim.labels, over)), None)
        return None if whole is None or place is None else (whole, place)

    def _having(self, value: Value, labels: Labels) -> Iterator[Value]:
        """Return what a value was computed from that has an axis of these names."""
        known = ((one, self.shapes.of(one).dims or ()) for one in behind(self.flow, value))
        return (one for one, dims in known if any(related(dim.labels, labels) for dim in dims))

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

    def _turns(self, op: Op) -> Dim:
        """Return how many turns a loop takes, or how many elements a map goes over, with what is known of that axis."""
        if op.name == "py.loop":
            return next(self._counted(op), UNKNOWN)
        if op.name == "fori":
            number = self.shapes.of(op.operands[1]).number if len(op.operands) > 1 else None
            return UNKNOWN if number is None else number
        if op.name == "scan" and (length := scan_length(op, self.shapes.of)).known:
            return length
        given = [value for _, value in (Loop(op).elements if op.name == "scan" else Mapped(op).elements)]
        # Of a model that a map made, layer by layer, no shape is known.
        made = (self.places.maker.get(one) for one in walk(given, self._of_model))
        maps = [op, *(one for one in made if one is not None and one.name == "vmap")]
        dims = [side.dim for one in maps for side in taken_sides(one, self.shapes.of)]
        return next((dim for dim in dims if dim.known), UNKNOWN)

    def _counted(self, op: Op) -> Iterator[Dim]:
        """Return how far a loop of Python counts."""
        for one in op.regions[0].ops:
            over = one.arguments.get("iterable") if one.name == "py.element" else None
            stop = literal(over.get("stop"), self.shapes.of).number if isinstance(over, Mapping) else None
            yield from () if stop is None else (stop,)

    def _of_model(self, value: Value) -> Sequence[Value]:
        return () if self.shapes.of(value).dims is not None else behind(self.flow, value, through_ops(*_MODELS))

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
            if op.name not in ("vmap", "scan"):
                continue
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
        return [op for op in made if op is not None and axes_taken(op) is not None and op.operands]

    def _same_axis(self, value: Value, labels: Labels) -> Sequence[Value]:
        """Return the value that another one has an axis from."""
        op = self.places.maker.get(value)
        if op is None or op.regions:
            return behind(self.flow, value, nothing)
        index = op.arguments.get("index") if op.name == "py.item" else None
        if isinstance(index, Value):
            # The rows that an array of indices chooses stand where the indices stood.
            return (index,)
        if op.name in _REDUCING:
            return op.operands[:1]
        known = {one: self.shapes.of(one).dims or () for one in op.operands}
        having = tuple(one for one, dims in known.items() if any(related(dim.labels, labels) for dim in dims))
        return having if len(having) == 1 else ()

    def _around(self, op: Op) -> Iterator[Op]:
        """Return the maps and scans that an op stands in, from the inside out."""
        region = self.places.region_of.get(op)
        holders = () if region is None else (holder for _, holder in self.places.up(region))
        yield from (one for one in holders if one is not None and one.name in _AROUND)


_LOOKS = (Judge._elsewhere, Judge._left_behind, Judge._given_whole, Judge._taken_away, Judge._reduced_away, Judge._kept)


def _identity(labels: Labels) -> set[Op]:
    """Return the ops that made an axis what it is: counted it, or went through it one by one."""
    return {label.op for label in labels if label.kind in _MAKING and label.op is not None}


def _is_crossed(left: Side, right: Side, place: int) -> bool:
    """Whether two axes that meet were made by different ops."""
    first, second = _identity(left.dims[place].labels), _identity(right.dims[place].labels)
    return bool(first) and bool(second) and first.isdisjoint(second)


def _is_pair(left: Side, right: Side, place: int, other: int) -> bool:
    """Whether two axes of an array are those of another one in the other order."""
    made = [_identity(side.dims[at].labels) for side in (left, right) for at in (place, other)]
    same_ones = not made[0].isdisjoint(made[3]) and not made[1].isdisjoint(made[2])
    return same_ones and made[0].isdisjoint(made[1]) and made[2].isdisjoint(made[3]) and _is_crossed(left, right, other)


def _by_maker(labels: Labels) -> Label:
    """Return what says which axis it is, by the name of what was made so."""
    made_so = (one for one in in_lines(labels) if one.kind in _MAKING and one.op is not None)
    label = min(made_so, key=lambda one: _MAKING.index(one.kind))
    made = label.op.results[0].name if label.op is not None and label.op.results else ""
    return replace(label, name=made or label.kind)


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


def axes_taken(op: Op) -> tuple[int, ...] | None:
    """Return the axes that a reduction or an index takes away; None for any other op, and where that is not known."""
    if op.name in _REDUCING:
        return axes_in(op.arguments.get("axis"))
    parts = index_parts(op.arguments.get("index")) if op.name == "py.item" else ()
    if not all(is_whole(part) or isinstance(part, int) for part in parts):
        return None
    return tuple(at for at, part in enumerate(parts) if isinstance(part, int)) or None


def _reduced(op: Op, context: Context, left: Dim, wanted: Dim) -> tuple[int, int] | None:
    """Return the place of an axis that a reduction leaves, and that of the wanted one that it takes away."""
    dims, axes = context.of(op.operands[0]).dims, axes_taken(op)
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
    """Return every meeting of axes in an op of which one has a name, or both are known, in every context."""
    for context in shapes.contexts(op):
        for meeting in meetings(op, context):
            sides = (meeting.left.dim.labels, meeting.right.dim.labels)
            if any(any(named(labels)) for labels in sides) or all(sides):
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
    judge = Judge(facts.flow, shapes)
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
