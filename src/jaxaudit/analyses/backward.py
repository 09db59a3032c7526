"""Backward: walks regions from their ends, so that the fact of a value comes from what reads it.

A body that several calls share is solved for the facts of its results, once for equal ones; loops are solved until
what their ends are given covers what their beginnings ask for. What is recorded for a value covers all contexts.

Where facts need not hold on all paths they only grow: what an op says of its operands follows from the facts of its
results, and covers what was known of them. So a later turn looks only at ops whose results have changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import count
from typing import Generic, TypeVar

from jaxaudit import progress
from jaxaudit.analyses.domain import MAX_CONTEXTS, Domain, grow
from jaxaudit.ir import Exit, Op, Program, Region, Value
from jaxaudit.ir.ops import BRANCHES, LOOPS

Fact = TypeVar("Fact")
Change = dict[Value, Fact | None]
"""What each value that was written had before; None where it had nothing."""


@dataclass(slots=True)
class Backward(Generic[Fact]):
    """The state of one backward walk."""

    domain: Domain[Fact]
    current: dict[Value, Fact] = field(default_factory=dict)
    """The facts in the context that is being solved, as they are before the ops that were seen."""
    past: dict[Value, Fact] = field(default_factory=dict)
    """The facts over all earlier contexts, of values in bodies that are solved again."""
    memo: dict[tuple[int, tuple[Fact, ...], object], tuple[Fact, ...]] = field(default_factory=dict)
    contexts: dict[int, int] = field(default_factory=dict)
    """How often each shared region was solved."""
    settled: set[Value] = field(default_factory=set)
    """What must hold of these is known: they were made where the walk has been. Kept for `must` alone."""
    changes: Change[Fact] | None = None
    """What to put back, where a region is solved on trial. Kept for `must` alone."""
    moved: set[Value] | None = None
    """In a later turn of a loop: the values whose facts have changed since the turn before."""
    anew: bool = False
    """In a later turn: whether all ops are looked at, because a shared body is solved for other results."""
    made: dict[int, frozenset[Value]] = field(default_factory=dict)
    """The values that are made in the regions of each op that a later turn came to."""
    bodies: dict[int, Sequence[Value]] = field(default_factory=dict)
    """The values that are made in each shared body that was solved more than once."""

    def read(self, value: Value) -> Fact:
        """Return the fact of a value after the op that is being looked at."""
        fact = self.current.get(value)
        return self.domain.unknown(value) if fact is None else fact

    def write(self, values: Sequence[Value], facts: Sequence[Fact | None]) -> None:
        """Set the facts of values before an op; one that stands twice gets what covers both."""
        current, moved = self.current, self.moved
        if self.changes is None and len(values) == len(facts) == 1:
            # By far the most frequent case.
            value, fact = values[0], facts[0]
            if fact is not None and (old := current.get(value)) is not fact:
                current[value] = fact
                if moved is not None and old != fact:
                    moved.add(value)
            return
        written: dict[Value, Fact] = {}
        for value, fact in zip(values, facts, strict=False):
            if fact is not None:
                written[value] = self.domain.join(written[value], fact) if value in written else fact
        if self.changes is not None:
            for value in written:
                self.changes.setdefault(value, current.get(value))
        if moved is not None:
            moved.update(value for value, fact in written.items() if current.get(value) != fact)
        current.update(written)

    def recorded(self) -> dict[Value, Fact]:
        """Return the facts over all contexts."""
        self.forget(tuple(self.past))
        return self.current | self.past

    def forget(self, values: Sequence[Value]) -> None:
        """Take the facts of values for those of the past."""
        for value in values:
            fact = self.current.pop(value, None)
            if fact is not None:
                past = self.past.get(value)
                self.past[value] = fact if past is None else self.domain.join(past, fact)

    def run(self, region: Region, results: Sequence[Fact]) -> None:
        """Solve a region from its end."""
        self.write(region.results, results)
        table, read, write = self.domain.table, self.read, self.write
        must, moved = self.domain.must, None if self.anew else self.moved
        for op in reversed(region.ops):
            if op.regions:
                if moved is None or not (moved.isdisjoint(op.results) and moved.isdisjoint(self.made_in(op))):
                    self.enter(op)
                    write(op.operands, self.domain.leave(op, read))
            elif moved is not None and moved.isdisjoint(op.results):
                continue
            elif op.operands and (transfer := table.get(op.name)) is not None:
                write(op.operands, transfer(op, read))
            if must:
                self.settled.update(op.results)
        if must:
            self.settled.update(region.params)

    def made_by(self, region: Region) -> Sequence[Value]:
        """Return the values that a shared body and the regions inside it make, or are given."""
        made = self.bodies.get(id(region))
        if made is None:
            made = self.bodies[id(region)] = _made_in(region)
        return made

    def made_in(self, op: Op) -> frozenset[Value]:
        """Return the values that are made in the regions of an op: some are read outside."""
        made = self.made.get(id(op))
        if made is None:
            made = self.made[id(op)] = frozenset(value for region in op.regions for value in _made_in(region))
        return made

    def enter(self, op: Op) -> None:
        """Solve the regions of an op."""
        if op.name in BRANCHES and self.domain.must:
            self.choose(op)
            return
        for region in reversed(op.regions):
            if op.name in LOOPS:
                self.repeat(op, region)
            elif region.shared:
                # What the body gave in another call says nothing of this one.
                self.forget(region.results)
                self.once(region, tuple(self.domain.enter(op, region, self.read, 0)))
            else:
                self.run(region, self.domain.enter(op, region, self.read, 0))

    def choose(self, op: Op) -> None:
        """Solve each branch from what holds after all of them, and cover what the branches begin with."""
        ways = [self._way(op, region) for region in op.regions]
        known = dict.fromkeys(value for way, _ in ways for value in way)
        if any(leaves for _, leaves in ways):
            # What follows the branches does not follow all of them.
            known |= dict.fromkeys(value for value in self.current if value not in self.settled)
        for value in known:
            found = [way[value] for way, _ in ways if value in way]
            if value not in self.settled:
                others = (leaves for way, leaves in ways if value not in way)
                found += [self.domain.unknown(value) if leaves else self.read(value) for leaves in others]
            self.write((value,), (reduce(self.domain.join, found),))

    def _way(self, op: Op, region: Region) -> tuple[dict[Value, Fact], bool]:
        """Return what a branch makes of the facts after it, and whether control leaves at its end."""
        outer, self.changes = self.changes, dict[Value, Fact | None]()
        after, leaves = self.current, region.exit is not Exit.FALL
        if leaves:
            self.current = {}
        self.run(region, self.domain.enter(op, region, self.read, 0))
        way = {value: self.read(value) for value in self.changes}
        self._undo(after)
        self.changes = outer
        return way, leaves

    def _undo(self, after: dict[Value, Fact]) -> None:
        """Put back what a region on trial has changed."""
        if self.current is after:
            for value, old in (self.changes or {}).items():
                if old is None:
                    self.current.pop(value, None)
                else:
                    self.current[value] = old
        self.current = after

    def once(self, region: Region, results: tuple[Fact, ...]) -> None:
        """Solve a shared body for the facts of its results, or take what was found for equal ones."""
        where = self.domain.place()
        place = (id(region), results, where)
        if place not in self.memo and self.contexts.get(id(region), 0) >= MAX_CONTEXTS:
            place = (id(region), self._covering(region, results, where), where)
        known = self.memo.get(place)
        if known is None:
            if self.contexts.setdefault(id(region), 0):
                self.forget(self.made_by(region))
            self.contexts[id(region)] += 1
            outer, self.anew = self.anew, True
            self.run(region, place[1])
            self.anew = outer
            known = self.memo[place] = tuple(self.read(value) for value in region.params)
        self.forget(region.params)
        self.write(region.params, known)

    def _covering(self, region: Region, results: tuple[Fact, ...], where: object) -> tuple[Fact, ...]:
        """Return facts of results that cover all that were met, once there are too many to tell apart."""
        for shared, earlier, place in self.memo:
            if shared == id(region) and place == where:
                results = tuple(self.domain.widen(one, other) for one, other in zip(earlier, results, strict=True))
        return results

    def repeat(self, op: Op, region: Region) -> None:
        """Solve a loop's body until what its end is given covers what its beginning asks for."""
        results = list(self.domain.enter(op, region, self.read, 0))
        outer, moved, anew = self.changes, self.moved, self.anew
        # A fact may go from one carried value to the next, a turn each; widening makes it end.
        for turn in count(1):
            if self.domain.must:
                self.changes = {}
            elif turn > 1:
                self.moved, self.anew = set() if moved is None else moved, False
            self.run(region, results)
            again = self.domain.enter(op, region, self.read, turn)
            grown = [grow(self.domain, turn, old, new) for old, new in zip(results, again, strict=True)]
            if grown == results:
                break
            if self.domain.must:
                self._undo(self.current)
            results = grown
        self.moved, self.anew = moved, anew
        if self.domain.must:
            self._keep(outer)

    def _keep(self, outer: Change[Fact] | None) -> None:
        """Let what a loop's body has changed stay; a fact that must hold has to hold without any turn too."""
        changes, self.changes = self.changes or {}, outer
        if outer is not None:
            for value, old in changes.items():
                outer.setdefault(value, old)
        for value in changes.keys() - self.settled:
            old = changes[value]
            before = self.domain.unknown(value) if old is None else old
            self.write((value,), (self.domain.join(self.read(value), before),))


def solve_backward(program: Program, domain: Domain[Fact]) -> dict[Value, Fact]:
    """Solve a domain from the ends of all roots: those that come last read what the others made."""
    solver = Backward(domain)
    for number, root in enumerate(reversed(program.roots)):
        progress.tell(f"following {domain.name}", number, len(program.roots))
        solver.run(root.region, ())
    return solver.recorded()


def _made_in(region: Region) -> list[Value]:
    """Return the values that a region and those inside it make, or are given."""
    inner = [one for op in region.walk() for one in (*op.results, *(value for r in op.regions for value in r.params))]
    return [*region.params, *inner]
