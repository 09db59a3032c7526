"""Axis threads: every axis of a traced program as one thread, from where it enters to where it ends.

Slots (an axis of a value) that an op takes for one are one thread, in one pass over the program with a union-find. Two
axes of equal size that nothing takes for one stay two threads, which is the point: sizes do not say what an axis is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jaxaudit.analyses.threads.relation import Deed, Relation, Slot, Station, Types
from jaxaudit.analyses.threads.shared import Edge, Summary, shared_body
from jaxaudit.analyses.threads.table import relation_of
from jaxaudit.ir import Op, Program, Region, Root, Value
from jaxaudit.ir.record import mutable

_MOST_STATIONS = 400
"""How many stations of one axis are kept; an unrolled model has the same ones over and over."""


@dataclass(slots=True, eq=False)
class Thread:
    """The way of one axis through one root."""

    root: Root
    first: Slot
    size: int
    stations: list[Station] = field(default_factory=list)
    called: Slot | None = None
    """The first of its arrays that has a plain name."""
    factors: tuple[Thread, ...] = ()
    """The axes that a reshape made this one of, in order."""


@mutable
class Woven:
    """All threads of a program, and which thread each axis of each value is."""

    threads: list[Thread] = field(default_factory=list)
    _of: dict[Value, tuple[Thread | None, ...]] = field(default_factory=dict)

    def of(self, value: Value) -> tuple[Thread | None, ...]:
        """Return the thread of each axis of a value; none for axes of size one."""
        return self._of.get(value, ())


def weave(program: Program) -> Woven:
    """Weave the threads of every root of a traced program."""
    woven = Woven()
    for root in program.roots:
        _Loom(root, program.types, woven).run()
    return woven


class _Loom:
    """The weaving of one root."""

    def __init__(self, root: Root, types: Types, woven: Woven, bodies: dict[int, Summary] | None = None) -> None:
        self.root, self.types, self.woven = root, types, woven
        self.bodies: dict[int, Summary] = {} if bodies is None else bodies
        self.entered: set[int] = set()
        self.first: dict[Value, int] = {}
        self.parents: list[int] = []
        self.sizes: list[int] = []
        self.slots: list[Slot] = []
        self.stations: list[tuple[int, Station]] = []
        self.factors: dict[int, tuple[Slot, ...]] = {}
        self.merges: list[tuple[tuple[Slot, ...], Slot]] = []
        self.splits: list[tuple[Slot, tuple[Slot, ...]]] = []

    def run(self) -> None:
        region = self.root.region
        self._border("enters", region.params)
        self._walk(region)
        self._border("returned", region.results)
        self._match()
        self._finish()

    def _walk(self, region: Region) -> None:
        for op in region.walk():
            body = shared_body(op)
            if body is None or id(body) not in self.entered:
                self._take(op, relation_of(op, self.types))
            else:
                self._call(op, self._summary(body))
            if body is not None:
                self.entered.add(id(body))

    def _call(self, op: Op, summary: Summary) -> None:
        """Take a further call of a shared body: what happens inside happens to the axes of this call too."""
        self._take(op, summary.relation(op))
        for slot, station in summary.passed(op):
            if self._size(slot) != 1:
                self.stations.append((self._number(slot), station))

    def _summary(self, body: Region) -> Summary:
        known = self.bodies.get(id(body))
        if known is None:
            known = self.bodies[id(body)] = _Loom(self.root, self.types, Woven(), self.bodies)._summarised(body)
        return known

    def _summarised(self, body: Region) -> Summary:
        """Weave a body by itself, and tell what it does to the axes at its edge."""
        self._walk(body)
        self._match()
        edges: dict[int, Edge] = {}
        links: list[tuple[Edge, Edge]] = []
        same: list[tuple[int, int]] = []
        values = (*body.params, *body.results)
        for position, value in enumerate(values):
            mine = [Edge(position, axis) for axis in range(self._rank(value))]
            found = [edges.setdefault(self._find(self._number(Slot(value, one.axis))), one) for one in mine]
            whole = self._whole(mine, found, values)
            if whole is not None:
                same.append((whole, position))
            else:
                links += [(first, one) for first, one in zip(found, mine, strict=True) if first != one]

        def at_edge(slots: Sequence[Slot]) -> tuple[Edge, ...]:
            found = [edges.get(self._find(self._number(slot))) for slot in slots]
            return tuple(edge for edge in found if edge is not None) if None not in found else ()

        merges = [(parts, at_edge([whole])) for slots, whole in self.merges if (parts := at_edge(slots))]
        splits = [(at_edge([whole]), parts) for whole, slots in self.splits if (parts := at_edge(slots))]
        return Summary(
            same,
            links,
            [(parts, whole[0]) for parts, whole in merges if whole],
            [(whole[0], parts) for whole, parts in splits if whole],
            list(self._passed(edges)),
        )

    def _passed(self, edges: Mapping[int, Edge]) -> Iterator[tuple[Edge, Station]]:
        """Return what happens inside a body to the axes at its edge; the same on one line is told once."""
        told: set[tuple[Edge, str, int]] = set()
        for number, station in self.stations:
            edge = edges.get(self._find(number))
            if edge is None or station.op is None:
                continue
            key = (edge, station.kind, station.op.span.line)
            if key not in told:
                told.add(key)
                yield edge, station

    def _whole(self, mine: Sequence[Edge], found: Sequence[Edge], values: Sequence[Value]) -> int | None:
        """Return the position of an array of the same shape that each axis of one was found to be an axis of."""
        others = {first.position for first, one in zip(found, mine, strict=True) if first != one}
        if len(others) != 1:
            return None
        (other,) = others
        sizes = self.types[values[other]].shape, self.types[values[mine[0].position]].shape
        straight = all(first in (one, Edge(other, one.axis)) for first, one in zip(found, mine, strict=True))
        alone = all(size == 1 for size, first, one in zip(sizes[1], found, mine, strict=True) if first == one)
        return other if sizes[0] == sizes[1] and straight and alone else None

    def _border(self, kind: str, values: tuple[Value, ...]) -> None:
        for value in dict.fromkeys(values):
            for axis in range(self._rank(value)):
                self._station(Station(kind, Slot(value, axis)))

    def _take(self, op: Op, relation: Relation) -> None:
        for before, after in relation.same:
            self._fuse(before, after)
        for one, other in relation.links:
            self._join(self._number(one), self._number(other))
        for deed in relation.deeds:
            self._station(Station(deed.kind, self._placed(deed), op))
        self.merges.extend(relation.merges)
        self.splits.extend(relation.splits)
        for parts, whole in relation.merges:
            self.factors.setdefault(self._find(self._number(whole)), parts)
            for part in parts:
                self._station(Station("merged", part, op))
            self._station(Station("made", whole, op))
        for whole, parts in relation.splits:
            self._split(op, whole, parts)

    def _split(self, op: Op, whole: Slot, parts: tuple[Slot, ...]) -> None:
        """Take an axis apart; where a reshape made it of axes of these very sizes, they are those again."""
        known = self.factors.get(self._find(self._number(whole)), ())
        if [self._size(one) for one in known] == [self._size(one) for one in parts]:
            for one, other in zip(known, parts, strict=True):
                self._join(self._number(one), self._number(other))
        self._station(Station("split", whole, op))
        for part in parts:
            self._station(Station("made", part, op))

    def _match(self) -> None:
        """Take for one what is made of the same axes in the same order, and what the same axis is split into."""
        wholes: dict[tuple[int, ...], int] = {}
        for parts, whole in self.merges:
            key = tuple(self._find(self._number(one)) for one in parts)
            self._join(wholes.setdefault(key, self._number(whole)), self._number(whole))
        pieces: dict[tuple[int, ...], tuple[Slot, ...]] = {}
        for whole, parts in self.splits:
            key = (self._find(self._number(whole)), *(self._size(one) for one in parts))
            for one, other in zip(pieces.setdefault(key, parts), parts, strict=True):
                self._join(self._number(one), self._number(other))

    def _placed(self, deed: Deed) -> Slot:
        rank = self._rank(deed.slot.value)
        return Slot(deed.slot.value, deed.slot.axis % rank) if rank else deed.slot

    def _rank(self, value: Value) -> int:
        kind = self.types.get(value)
        return len(kind.shape) if kind is not None else 0

    def _size(self, slot: Slot) -> int:
        return self.types[slot.value].shape[slot.axis]

    def _station(self, station: Station) -> None:
        rank = self._rank(station.slot.value)
        if station.slot.axis < rank and self._size(station.slot) != 1:
            self.stations.append((self._number(station.slot), station))

    def _number(self, slot: Slot) -> int:
        return self._base(slot.value) + slot.axis

    def _base(self, value: Value) -> int:
        """Number the axes of a value when it is first met."""
        base = self.first.get(value)
        if base is None:
            base = self.first[value] = len(self.parents)
            kind = self.types.get(value)
            if kind is not None:
                rank = len(kind.shape)
                self.parents.extend(range(base, base + rank))
                self.sizes.extend(kind.shape)
                self.slots.extend([Slot(value, axis) for axis in range(rank)])
        return base

    def _fuse(self, before: Value, after: Value) -> None:
        """Take two arrays of one shape for one, axis by axis; what is met for the first time gets the same numbers."""
        base, other = self._base(before), self.first.get(after)
        if other is None:
            self.first[after] = base
        elif other != base:
            for axis in range(self._rank(before)):
                self._join(base + axis, other + axis)

    def _find(self, number: int) -> int:
        parents = self.parents
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    def _join(self, one: int, other: int) -> None:
        first, second = self._find(one), self._find(other)
        if first == second or self.sizes[first] == 1 or self.sizes[second] == 1:
            return
        older, younger = (first, second) if first < second else (second, first)
        self.parents[younger] = older
        if younger in self.factors:
            self.factors.setdefault(older, self.factors[younger])

    def _finish(self) -> None:
        threads: dict[int, Thread] = {}
        for number, station in self.stations:
            thread = self._thread(self._find(number), threads)
            if len(thread.stations) < _MOST_STATIONS:
                thread.stations.append(station)
        for number, parts in self.factors.items():
            whole = threads.get(self._find(number))
            if whole is not None:
                whole.factors = tuple(self._thread(self._find(self._number(one)), threads) for one in parts)
        self.woven.threads.extend(threads.values())
        known: dict[tuple[int, int], tuple[Thread | None, ...]] = {}
        called: set[tuple[int, int]] = set()
        for value, base in self.first.items():
            axes = (base, self._rank(value))
            mine = known.get(axes)
            if mine is None:
                mine = known[axes] = tuple([threads.get(self._find(base + axis)) for axis in range(axes[1])])
            self.woven._of[value] = mine
            if axes not in called and value.name.isidentifier():
                called.add(axes)
                _call(value, mine)

    def _thread(self, number: int, threads: dict[int, Thread]) -> Thread:
        found = threads.get(number)
        if found is None:
            found = threads[number] = Thread(self.root, self.slots[number], self.sizes[number])
        return found


def _call(value: Value, threads: Sequence[Thread | None]) -> None:
    """Let axes go by an array with a plain name where they have none yet."""
    for axis, thread in enumerate(threads):
        if thread is not None and thread.called is None:
            thread.called = Slot(value, axis)
