"""The transformation stack: which transformation stands in which, read off the nesting of regions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from jaxaudit.ir import Op, Program, Region
from jaxaudit.ir.record import replace
from jaxaudit.reports.model import Transformation
from jaxaudit.reports.notes import Notes

TRANSFORMS = frozenset(
    "jit vmap pmap shard_map grad jvp vjp scan map fori while cond associative_scan checkpoint custom_jvp custom_vjp "
    "transform".split()
)
_OPTIONS = (
    "in_axes out_axes axis_name axis_size argnums has_aux static donated length trips reverse carry in_specs out_specs "
    "mesh policy".split()
)
_MOST_OPS = 500_000
"""Ops to walk before the rest is left out: a stack that long is not read by anybody."""


class _Place(NamedTuple):
    region: Region
    parent: int | None
    depth: int
    root: str


class Stack(NamedTuple):
    """The rows of the stack, and the row that each op of what was traced belongs to."""

    rows: tuple[Transformation, ...]
    of_op: Mapping[Op, int]


def stack(source: Program, notes: Notes | None, paths: frozenset[str]) -> Stack:
    """Return the stack of what was traced, then of what only the source shows, within the audited files."""
    of_op: dict[Op, int] = {}
    traced = list(_rows(notes.program, notes, 0, of_op)) if notes else []
    places = {(row.path, row.line) for row in traced}
    names = {(_plain(row.transform), row.function) for row in traced}
    rest = (
        row
        for row in _rows(source, None, len(traced), {})
        if row.path in paths
        and (row.path, row.line) not in places
        and (_plain(row.transform), row.function) not in names
    )
    return Stack((*traced, *rest), of_op)


def _plain(transform: str) -> str:
    """Name a transformation of a library by the one of JAX that it is: `equinox.filter_jit` is `jit`."""
    return transform.rpartition(".")[2].removeprefix("filter_")


def _rows(program: Program, notes: Notes | None, first: int, of_op: dict[Op, int]) -> Iterator[Transformation]:
    rows = _Rows(program.front_end, first, _leading_to_transforms(program), of_op)
    for number, root in enumerate(program.roots):
        parent, depth = None, 0
        note = notes.roots[number] if notes and number < len(notes.roots) else None
        if note is not None and note.transform:
            row = rows.new(None, 0, root.name, note.transform, root.name, note.path, note.line)
            yield replace(row, traces=note.traces)
            parent, depth = row.id, 1
        yield from rows.region(root.region, parent, depth, root.name)


def _leading_to_transforms(program: Program) -> dict[int, list[Op]]:
    """Return the regions that hold a transformation somewhere inside, each with its ops that have regions.

    Most code holds none, and shared bodies would be walked again and again to find that out.
    """
    holders: dict[int, list[Op]] = {}
    around: dict[int, list[int]] = {}
    waiting = [root.region for root in program.roots]
    while waiting:
        region = waiting.pop()
        if id(region) in holders:
            continue
        holders[id(region)] = [op for op in region.ops if op.regions]
        for op in holders[id(region)]:
            for inner in op.regions:
                around.setdefault(id(inner), []).append(id(region))
                waiting.append(inner)
    leading = [number for number, ops in holders.items() if any(op.name in TRANSFORMS for op in ops)]
    found: set[int] = set()
    while leading:
        number = leading.pop()
        if number not in found:
            found.add(number)
            leading.extend(around.get(number, ()))
    return {number: holders[number] for number in found}


class _Rows:
    def __init__(self, front_end: str, first: int, holders: dict[int, list[Op]], of_op: dict[Op, int]) -> None:
        self.front_end = front_end
        self.holders = holders
        self.next = first
        self.left = _MOST_OPS
        self.known: dict[tuple[object, ...], Transformation] = {}
        self.visited: set[tuple[int, int | None]] = set()
        self.of_op = of_op

    def new(
        self,
        parent: int | None,
        depth: int,
        root: str,
        transform: str,
        function: str,
        path: str,
        line: int,
        op: Op | None = None,
    ) -> Transformation:
        options = {name: _text(noted) for name in _OPTIONS if op and _tells(noted := op.attribute(name))}
        row = Transformation(self.next, parent, depth, root, transform, function, path, line, self.front_end, options)
        self.next += 1
        return row

    def region(self, region: Region, parent: int | None, depth: int, root: str) -> Iterator[Transformation]:
        """Walk a region in program order without recursion; one that several calls share is walked once a parent."""
        waiting = [self._ops(_Place(region, parent, depth, root))]
        while waiting:
            item = next(waiting[-1], None)
            if item is None:
                waiting.pop()
                continue
            op, place = item
            self.left -= 1
            parent, depth = place.parent, place.depth
            if op.name in TRANSFORMS:
                row, is_new = self._row(op, place)
                parent, depth = row.id, place.depth + 1
                self.of_op[op] = row.id
                if is_new:
                    yield row
            for inner in reversed(op.regions):
                waiting.append(self._ops(_Place(inner, parent, depth, place.root)))

    def _ops(self, place: _Place) -> Iterator[tuple[Op, _Place]]:
        """Return the ops of a region that hold regions, unless it was walked for the same parent already."""
        key = (id(place.region), place.parent)
        if key not in self.visited and self.left >= 0:
            self.visited.add(key)
            yield from ((op, place) for op in self.holders.get(id(place.region), ()))

    def _row(self, op: Op, place: _Place) -> tuple[Transformation, bool]:
        function = op.qualified or op.regions[-1].label
        key = (place.parent, op.name, function, op.span)
        known = self.known.get(key)
        if known is not None:
            return known, False
        spelling = op.spelling.removeprefix("jax.")
        row = self.new(
            place.parent, place.depth, place.root, spelling or op.name, function, op.span.path, op.span.line, op
        )
        self.known[key] = row
        return row, True


def _tells(value: object) -> bool:
    """Whether an option says more than its default."""
    parts = value if isinstance(value, tuple) else (value,)
    return any(one is not None and one is not False and one != {} for one in parts)


def _text(value: object) -> str:
    text = str(value)
    return text if len(text) <= 120 else text[:117] + "..."
