"""Backward: walks regions from their ends, so that the fact of a value comes from what reads it.

A body that several calls share is solved for the facts of its results, once for equal ones; loops are solved until
what their ends are given covers what their beginnings ask for. What is recorded for a value covers all contexts.

Facts hold on some path, and only grow: what an op says of its operands follows from the facts of its results, and
covers what was known of them. So a later turn looks only at ops whose results have changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

from jaxaudit import progress
from jaxaudit.analyses.domain import MAX_CONTEXTS, Domain, grow
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.ops import LOOPS

Fact = TypeVar("Fact")


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
        if len(values) == len(facts) == 1:
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
        moved = None if self.anew else self.moved
        for op in reversed(region.ops):
            if op.regions:
                if moved is None or not (moved.isdisjoint(op.results) and moved.isdisjoint(self.made_in(op))):
                    self.enter(op)
                    write(op.operands, self.domain.leave(op, read))
            elif moved is not None and moved.isdisjoint(op.results):
                continue
            elif op.operands and (transfer := table.get(op.name)) is not None:
                write(op.operands, transfer(op, read))

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
        for region in reversed(op.regions):
            if op.name in LOOPS:
                self.repeat(op, region)
            elif region.shared:
                # What the body gave in another call says nothing of this one.
                self.forget(region.results)
                self.once(region, tuple(self.domain.enter(op, region, self.read, 0)))
            else:
                self.run(region, () if op.in_place else self.domain.enter(op, region, self.read, 0))

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
        moved, anew = self.moved, self.anew
        # A fact may go from one carried value to the next, a turn each; widening makes it end.
        for turn in count(1):
            if turn > 1:
                self.moved, self.anew = set() if moved is None else moved, False
            self.run(region, results)
            again = self.domain.enter(op, region, self.read, turn)
            grown = [grow(self.domain, turn, old, new) for old, new in zip(results, again, strict=True)]
            if grown == results:
                break
            results = grown
        self.moved, self.anew = moved, anew


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
