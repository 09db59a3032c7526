"""The end-to-end data flow: from the arguments of each function, line by line, to its results.

Equal neighbours fold: the ops of one line inside one function are one step, which takes what comes from elsewhere and
makes what goes elsewhere. A value that nothing reads is told as dropped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from jaxaudit.analyses.meaning.kinds import CHANGES
from jaxaudit.ir import Op, Region, Root, Value
from jaxaudit.ir.ops import BODIES, BRANCHES, MAPPED
from jaxaudit.reports.boundaries import captures
from jaxaudit.reports.called import called, note_of
from jaxaudit.reports.inside import View
from jaxaudit.reports.model import FlowStep, FlowValue
from jaxaudit.reports.stack import TRANSFORMS
from jaxaudit.reports.types_text import type_text

_STRAIGHT = BODIES | BRANCHES | {"vmap", "scan"}
"""Ops whose results are those of their region, one by one."""

_SILENT = frozenset(("py.const", "py.return", "py.container", "py.join"))
"""Ops that move no data: constants, and what Python does with values without looking at them."""


class Flow(NamedTuple):
    """The steps of the data flow, and the step that each op is part of."""

    steps: tuple[FlowStep, ...]
    of_op: Mapping[Op, int]


def data_flow(view: View) -> Flow:
    """Return the steps of every root of a program."""
    of_op: dict[Op, int] = {}
    steps: list[FlowStep] = []
    for number, root in enumerate(view.roots):
        if len(steps) >= view.most:
            steps.append(_left_out(root, len(view.roots) - number))
            break
        steps.extend(_Root(root, view, of_op).steps(view.most - len(steps)))
    return Flow(tuple(steps), of_op)


def _left_out(root: Root, count: int) -> FlowStep:
    span = root.region.span
    what = f"the flow of {count:,} more functions is left out; audit fewer files to see it"
    return FlowStep(root.name, root.name, 0, span.path, span.line, "more", what)


class _Group(NamedTuple):
    """Neighbouring ops of one line."""

    ops: tuple[Op, ...]
    place: _Inside
    number: int


class _Inside(NamedTuple):
    """A region to walk, and where it stands."""

    region: Region
    function: str
    depth: int
    parent: int | None = None
    branch: int = 0
    same: object = None
    """What other regions have in common that are not told again."""


class _Root:
    def __init__(self, root: Root, view: View, of_op: dict[Op, int]) -> None:
        self.root = root
        self.axes = view.axes
        self.ranges = view.ranges
        self.meanings = view.meanings
        self.of_op = of_op
        self.types = view.types
        self.unknown = view.unknown
        self.uses = _uses(root)
        self.behind = _behind(root.region)
        self.captured = captures(root) if view.exact else {}
        self.residuals = _Residuals(root)
        self.outside, self.inside = _passages(root.region)
        self.entered: dict[int, tuple[FlowValue, ...]] = {}

    def steps(self, most: int) -> Iterator[FlowStep]:
        region = self.root.region
        span = region.span
        place = (self.root.name, self.root.name, 0, span.path, span.line)
        yield FlowStep(*place, "enter", "arguments", (), self.values(region.params))
        number = 0
        for group in _groups(_Inside(region, self.root.name, 1)):
            number = group.number
            if number > most:
                yield FlowStep(*place, "more", f"further steps are left out after {most:,}", id=number)
                break
            step = self.step(group)
            if step.takes or step.makes or group.ops[0].regions:
                yield step
        left = [one for value in region.results for one in self.seen(value)]
        yield FlowStep(*place, "leave", "results", self.names(left), (), id=number + 1, reads=_ids(left))

    def step(self, group: _Group) -> FlowStep:
        self.of_op.update(dict.fromkeys(group.ops, group.number))
        made = [value for op in group.ops for value in op.results]
        inside = set(made)
        read = Counter(value for op in group.ops for value in op.operands if value in inside)
        taken = dict.fromkeys(
            one
            for op in group.ops
            for value in (*op.operands, *self.captured.get(op, ()))
            for one in self.seen(value)
            if one not in inside
        )
        shown = tuple(
            value
            for value in made
            if (self.uses[value] > read[value] and not self.is_left_over(value, group)) or self.is_dropped(value, group)
        )
        span = group.ops[0].span
        regions = group.ops[0].regions
        place = group.place
        return FlowStep(
            self.root.name,
            place.function,
            place.depth,
            span.path,
            span.line,
            _op_names(group.ops),
            _what(self.telling(group)),
            self.names(taken),
            self.values(shown, group),
            len(group.ops),
            group.number,
            place.parent,
            place.branch,
            _ids(taken),
            self.enters(regions),
            tuple(one.id for region in regions for value in region.results for one in self.seen(value)[:1]),
            all(op.backward for op in group.ops),
            note_of(group.ops),
        )

    def telling(self, group: _Group) -> Sequence[Op]:
        """Return the ops that say what a step does: not those that only prepare the backward pass."""
        if not self.residuals.any or len(group.ops) == 1:
            return group.ops
        read = Counter(value for op in group.ops for value in op.operands)
        needed: set[Value] = set()
        told: list[Op] = []
        for op in reversed(group.ops):
            leaving = [value for value in op.results if self.uses[value] > read[value]]
            goes_on = any(not self.is_residual(value, group) for value in leaving)
            dropped = any(value.name and not self.uses[value] for value in op.results)
            if goes_on or dropped or not op.results or not needed.isdisjoint(op.results):
                told.append(op)
                needed.update(op.operands)
        told.reverse()
        return told or group.ops

    def seen(self, value: Value) -> tuple[Value, ...]:
        """Return the values that a step really takes when it takes one that a silent op made."""
        return self.behind.get(value, (value,))

    def is_dropped(self, value: Value, group: _Group) -> bool:
        """Whether somebody gave a value a name, or gets it from a call, and then nothing reads it."""
        return not self.uses[value] and bool(value.name or group.ops[0].leaves is not None)

    def is_left_over(self, value: Value, group: _Group) -> bool:
        """Whether JAX made a value for differentiation and then did not need it."""
        named = value.name or group.ops[0].leaves is not None or group.ops[0].backward
        return not named and self.residuals.unread(value, group.ops)

    def is_residual(self, value: Value, group: _Group) -> bool:
        """Whether a step of a forward pass makes a value only for the backward pass."""
        forward = not group.ops[0].backward
        return forward and self.uses[value] > 0 and self.residuals.has(value, group.ops)

    def names(self, values: Iterable[Value]) -> tuple[str, ...]:
        """Name values for people; one without a name by the line that makes it."""
        return tuple(dict.fromkeys(self.name(value) for value in values))

    def name(self, value: Value) -> str:
        while not value.name and value in self.outside:
            value = self.outside[value]
        while not value.name and value in self.inside:
            value = self.inside[value]
        return value.name or f"line {value.span.line}"

    def values(self, values: Sequence[Value], group: _Group | None = None) -> tuple[FlowValue, ...]:
        leaves = group.ops[0].leaves if group is not None else None
        paths = dict(zip(group.ops[0].results, leaves, strict=False)) if group and isinstance(leaves, tuple) else {}
        return tuple(self.shown(value, str(paths.get(value, "")), group) for value in values)

    def shown(self, value: Value, path: str, group: _Group | None) -> FlowValue:
        residual = group is not None and self.is_residual(value, group)
        named = value
        while residual and named in self.inside:
            # What a call hands out for the backward pass is not what the user binds its result to.
            named = self.inside[named]
        return FlowValue(
            named.name or path,
            type_text(self.types(value)),
            self.uses[value],
            value.id,
            self.axes(value),
            residual,
            self.range(value),
            self.meaning(value, group),
            self.unknown(value),
        )

    def enters(self, regions: Sequence[Region]) -> tuple[FlowValue, ...]:
        """Show the parameters of regions; calls that share a region show the same."""
        if len(regions) == 1 and regions[0].shared:
            known = self.entered.get(id(regions[0]))
            if known is None:
                known = self.entered[id(regions[0])] = self.values(regions[0].params)
            return known
        return self.values([value for region in regions for value in region.params])

    def range(self, value: Value) -> str:
        """Return between which numbers a value lies, unless its dtype says it."""
        words, kind = self.ranges(value), self.types(value)
        return "" if words == "integer >= 0" and kind is not None and kind.dtype.startswith("uint") else words

    def meaning(self, value: Value, group: _Group | None) -> str:
        """Return what a value means, with `now` where a step changes the meaning and not the shape.

        What only a derivative is made of means nothing to the user.
        """
        if group is not None and (group.ops[0].backward or self.is_residual(value, group)):
            return ""
        found = self.meanings(value)
        if found not in CHANGES or group is None or group.ops[0].regions:
            return found
        kind = type_text(self.types(value))
        before = [one for op in group.ops for one in op.operands if type_text(self.types(one)) == kind and one.name]
        return f"now {found}" if before and all(self.meanings(one) != found for one in before) else found


def _groups(first: _Inside) -> Iterator[_Group]:
    """Walk the regions in order, without recursion, and fold neighbours of one line; steps are numbered from 1.

    The body of a function that several calls run is told once, at the first of them.
    """
    numbers = count(1)
    told: set[object] = set()
    waiting = [_folded(first, numbers)]
    while waiting:
        item = next(waiting[-1], None)
        if item is None:
            waiting.pop()
        elif isinstance(item, _Group):
            yield item
        elif item.same is None or item.same not in told:
            told.add(item.same)
            waiting.append(_folded(item, numbers))


def _folded(place: _Inside, numbers: Iterator[int]) -> Iterator[_Group | _Inside]:
    run: list[Op] = []
    for op in place.region.ops:
        silent = op.name in _SILENT and op.qualified != "captured"
        if silent or op.role or _moves_nothing(op):
            continue
        if run and (op.regions or op.span[:2] != run[0].span[:2]):
            yield _Group(tuple(run), place, next(numbers))
            run = []
        if op.regions:
            group = _Group((op,), place, next(numbers))
            yield group
            yield from _insides(op, group)
        else:
            run.append(op)
    if run:
        yield _Group(tuple(run), place, next(numbers))


def _moves_nothing(op: Op) -> bool:
    """Whether no data goes through an op: a note, or what is left of a transformation whose result is constant."""
    return not (op.operands or op.results or (op.regions and op.name not in TRANSFORMS))


def _insides(op: Op, group: _Group) -> Iterator[_Inside]:
    label = op.qualified or op.regions[-1].label
    for branch, region in enumerate(op.regions):
        name = label if op.name in TRANSFORMS else region.label
        same = region.span if op.in_place else id(region) if region.shared else None
        yield _Inside(region, name, group.place.depth + 1, group.number, branch, same)


def _passages(region: Region) -> tuple[dict[Value, Value], dict[Value, Value]]:
    """Return for each parameter of a body what it is outside, and for each result of a call what it is inside."""
    outside: dict[Value, Value] = {}
    inside: dict[Value, Value] = {}
    for op in region.walk():
        if op.regions and op.name in BODIES | MAPPED and not op.in_place:
            body = op.regions[0]
            if len(op.operands) == len(body.params):
                outside.update(zip(body.params, op.operands, strict=True))
            if len(op.results) == len(body.results):
                inside.update(zip(op.results, body.results, strict=True))
    return outside, inside


def _uses(root: Root) -> Counter[Value]:
    region = root.region
    uses: Counter[Value] = Counter(region.results)
    if root.runs:
        # What a module binds at its top level, other functions and modules may read.
        uses.update(value for op in region.ops for value in op.results if value.name)
    for op in region.walk():
        uses.update(op.operands)
        for inner in op.regions:
            uses.update(inner.results)
    return uses


def _behind(region: Region) -> dict[Value, tuple[Value, ...]]:
    """Return for each value that a silent op made what that op was given."""
    behind: dict[Value, tuple[Value, ...]] = {}
    for op in region.walk():
        if op.name == "py.const":
            behind.update((value, ()) for value in op.results if not value.name)
        elif op.name in _SILENT and op.operands:
            given = tuple(dict.fromkeys(one for value in op.operands for one in behind.get(value, (value,))))
            behind.update(dict.fromkeys(op.results, given))
    return behind


def _op_names(ops: Sequence[Op]) -> str:
    counts = Counter(op.name for op in ops)
    return ", ".join(name if count == 1 else f"{name} x{count}" for name, count in counts.items())


def _what(ops: Sequence[Op]) -> str:
    """Name what the ops do: the functions that they are calls of, as the user calls them."""
    names = [name for name in dict.fromkeys(map(called, ops)) if name]
    shown = names[:4]
    return ", ".join(shown) + (", ..." if len(names) > len(shown) else "")


def _ids(values: Iterable[Value]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(value.id for value in values))


class _Residuals:
    """Knows of each value of a root who reads it in the forward pass."""

    def __init__(self, root: Root) -> None:
        """Index a root; one in which nothing is differentiated has no residuals."""
        ops = list(root.region.walk())
        self.any = any(op.backward for op in ops)
        self._readers: dict[Value, set[Op | None]] = defaultdict(set)
        self._late: set[Value] = set()
        if not self.any:
            return
        for value in root.region.results:
            self._readers[value].add(None)
        for op in ops:
            if op.backward:
                self._late.update(op.operands)
            else:
                for value in op.operands:
                    self._readers[value].add(op)
        for op in ops:
            self._leave(op)

    def _leave(self, op: Op) -> None:
        """What a body leaves behind is read when the result is; ops come before their bodies, so one pass is enough."""
        for region in op.regions:
            straight = len(region.results) == len(op.results) and op.name in _STRAIGHT
            carried = op.carry or 0
            for place, inner in enumerate(region.results):
                # What is carried is read by the next turn.
                if not straight or place < carried or self._readers.get(op.results[place]):
                    self._readers[inner].add(None)
                elif op.results[place] in self._late:
                    self._late.add(inner)

    def unread(self, value: Value, ops: Collection[Op]) -> bool:
        """Whether nothing reads a value but some ops, though a body may leave it behind."""
        return self.any and value not in self._late and self._readers.get(value, set()) <= set(ops)

    def has(self, value: Value, ops: Collection[Op]) -> bool:
        """Whether the backward pass reads a value, and nothing in the forward pass does but some ops."""
        return value in self._late and self._readers.get(value, set()) <= set(ops)
