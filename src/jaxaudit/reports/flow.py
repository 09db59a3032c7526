"""The end-to-end data flow: from the arguments of each function, line by line, to its results.

Equal neighbours fold: the ops of one line inside one function are one step, which takes what comes from elsewhere and
makes what goes elsewhere. A value that nothing reads is told as dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from jaxaudit.ir import Op, Region, Root, Value
from jaxaudit.reports.model import FlowStep, FlowValue
from jaxaudit.reports.stack import TRANSFORMS
from jaxaudit.reports.types_text import type_text
from jaxaudit.reports.view import View

_SILENT = frozenset(("py.const", "py.return", "py.container", "py.join"))
"""Ops that move no data: constants, and what Python does with values without looking at them."""

_MOST_STEPS = 200_000
"""Steps to keep of one function; what is beyond is said in one more step."""


class Flow(NamedTuple):
    """The steps of the data flow, and the step that each op is part of."""

    steps: tuple[FlowStep, ...]
    of_op: Mapping[Op, int]


def data_flow(view: View) -> Flow:
    """Give the steps of every root of a program."""
    of_op: dict[Op, int] = {}
    return Flow(tuple(step for root in view.roots for step in _Root(root, view, of_op).steps()), of_op)


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


class _Root:
    def __init__(self, root: Root, view: View, of_op: dict[Op, int]) -> None:
        self.root = root
        self.axes = view.axes
        self.of_op = of_op
        self.types = view.types
        self.uses = _uses(root)
        self.behind = _behind(root.region)

    def steps(self) -> Iterator[FlowStep]:
        region = self.root.region
        span = region.span
        place = (self.root.name, self.root.name, 0, span.path, span.line)
        yield FlowStep(*place, "enter", "arguments", (), self.values(region.params))
        number = 0
        for group in _groups(_Inside(region, self.root.name, 1)):
            number = group.number
            if number > _MOST_STEPS:
                yield FlowStep(*place, "more", f"further steps are left out after {_MOST_STEPS:,}", id=number)
                break
            yield self.step(group)
        left = [one for value in region.results for one in self.seen(value)]
        yield FlowStep(*place, "leave", "results", _names(left), (), id=number + 1, reads=_ids(left))

    def step(self, group: _Group) -> FlowStep:
        self.of_op.update(dict.fromkeys(group.ops, group.number))
        made = [value for op in group.ops for value in op.results]
        inside = set(made)
        read = Counter(value for op in group.ops for value in op.operands if value in inside)
        taken = [one for op in group.ops for value in op.operands for one in self.seen(value) if one not in inside]
        shown = tuple(value for value in made if self.uses[value] > read[value] or not self.uses[value])
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
            _what(group.ops),
            _names(dict.fromkeys(taken)),
            self.values(shown),
            len(group.ops),
            group.number,
            place.parent,
            place.branch,
            _ids(dict.fromkeys(taken)),
            self.values([value for region in regions for value in region.params]),
            tuple(one.id for region in regions for value in region.results for one in self.seen(value)[:1]),
        )

    def seen(self, value: Value) -> tuple[Value, ...]:
        """Give the values that a step really takes when it takes one that a silent op made."""
        return self.behind.get(value, (value,))

    def values(self, values: Sequence[Value]) -> tuple[FlowValue, ...]:
        return tuple(
            FlowValue(value.name, type_text(self.types(value)), self.uses[value], value.id, self.axes(value))
            for value in values
        )


def _groups(first: _Inside) -> Iterator[_Group]:
    """Walk the regions in order, without recursion, and fold neighbours of one line; steps are numbered from 1.

    A body that several calls share is told once, at the first of them.
    """
    numbers = count(1)
    told: set[int] = set()
    waiting = [_folded(first, numbers)]
    while waiting:
        item = next(waiting[-1], None)
        if item is None:
            waiting.pop()
        elif isinstance(item, _Group):
            yield item
        elif not item.region.shared or id(item.region) not in told:
            told.add(id(item.region))
            waiting.append(_folded(item, numbers))


def _folded(place: _Inside, numbers: Iterator[int]) -> Iterator[_Group | _Inside]:
    run: list[Op] = []
    for op in place.region.ops:
        if op.name in _SILENT or not (op.operands or op.results or op.regions):
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


def _insides(op: Op, group: _Group) -> Iterator[_Inside]:
    label = op.text("function") or op.regions[-1].label
    for branch, region in enumerate(op.regions):
        name = label if op.name in TRANSFORMS else region.label
        yield _Inside(region, name, group.place.depth + 1, group.number, branch)


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
    """Give for each value that a silent op made what that op was given."""
    behind: dict[Value, tuple[Value, ...]] = {}
    for op in region.walk():
        if op.name in _SILENT and op.operands:
            given = tuple(dict.fromkeys(one for value in op.operands for one in behind.get(value, (value,))))
            behind.update(dict.fromkeys(op.results, given))
    return behind


def _op_names(ops: Sequence[Op]) -> str:
    counts = Counter(op.name for op in ops)
    return ", ".join(name if count == 1 else f"{name} x{count}" for name, count in counts.items())


def _what(ops: Sequence[Op]) -> str:
    """Name what the ops do: the functions that they are calls of."""
    names = dict.fromkeys(_last(op.text("function")) for op in ops if op.text("function"))
    shown = list(names)[:4]
    return ", ".join(shown) + (", ..." if len(names) > len(shown) else "")


def _last(name: str) -> str:
    return name.rpartition(".")[2] or name


def _ids(values: Iterable[Value]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(value.id for value in values))


def _names(values: Sequence[Value] | dict[Value, None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value.name or f"line {value.span.line}" for value in values))
