"""The one solver: walks regions in order, joins branches, repeats loops until nothing changes, follows calls once.

Facts only grow: every fact that is recorded for a value covers all contexts in which the value was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from jaxaudit import progress
from jaxaudit.analyses.axes import Axes, axes_of
from jaxaudit.analyses.domain import Domain, Read
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts, KeysDomain
from jaxaudit.analyses.ranges import Ranges, RangesDomain
from jaxaudit.analyses.shapes import Shapes, ShapesDomain
from jaxaudit.analyses.tracing import TracingDomain, TracingFacts
from jaxaudit.ir import Exit, Op, Program, Region, Value
from jaxaudit.ir.ops import BRANCHES, LOOPS

Fact = TypeVar("Fact")


@dataclass(frozen=True, slots=True)
class Source:
    """Where facts of one type come from: a domain that is solved, or what is read off other facts."""

    make: Callable[[Facts], object]
    after: tuple[type, ...] = ()
    """The facts that it reads, which are made first."""


def _by(domain: Callable[[Facts], Domain[Any]]) -> Callable[[Facts], object]:
    """Solve a domain, unless it can tell its result without."""

    def solved(facts: Facts) -> object:
        made = domain(facts)
        told = made.at_once(facts)
        return made.finish(facts, solve_domain(facts.program, made)) if told is None else told

    return solved


SOURCES: Mapping[type, Source] = {
    KeyFacts: Source(_by(KeysDomain)),
    Shapes: Source(_by(ShapesDomain)),
    TracingFacts: Source(_by(TracingDomain)),
    Ranges: Source(_by(RangesDomain), after=(Shapes,)),
    Axes: Source(axes_of, after=(Shapes,)),
}
"""Everything that rules can ask for in `needs`."""

MAX_TURNS = 12
"""After so many turns a loop's facts are given up; widening makes this rare."""

MAX_CONTEXTS = 6
"""A shared body that was solved for so many different operands is solved once more for unknown ones, and no more."""


def solve(program: Program, needs: Collection[type]) -> Facts:
    """Solve the domains that rules need, each in one walk over the program."""
    facts = Facts(program)
    for kind in sorted(needs, key=list(SOURCES).index):
        _provide(facts, kind)
    return facts


def _provide(facts: Facts, kind: type) -> None:
    if kind not in facts.solved:
        source = SOURCES[kind]
        for base in source.after:
            _provide(facts, base)
        facts.solved[kind] = source.make(facts)


def solve_domain(program: Program, domain: Domain[Fact]) -> Solution[Fact]:
    """Solve one domain for every root of a program."""
    solver = _Solver(domain)
    for number, root in enumerate(program.roots):
        progress.tell(f"following {domain.name}", number, len(program.roots))
        solver.run(root.region, ())
    return Solution(domain, solver.recorded())


@dataclass(frozen=True, slots=True)
class Solution(Generic[Fact]):
    """The facts of all values; a value that is missing has the domain's unknown fact."""

    domain: Domain[Fact]
    facts: Mapping[Value, Fact]

    def of(self, value: Value) -> Fact:
        """Return the fact of a value, covering every context it was seen in."""
        fact = self.facts.get(value)
        return self.domain.unknown(value) if fact is None else fact


@dataclass(slots=True)
class _Solver(Generic[Fact]):
    domain: Domain[Fact]
    current: dict[Value, Fact] = field(default_factory=dict)
    """The facts in the context that is being solved."""
    past: dict[Value, Fact] = field(default_factory=dict)
    """The facts over all earlier contexts, of values that had others there: most are met in one."""
    summarised: set[int] = field(default_factory=set)
    memo: dict[tuple[int, tuple[Fact, ...], object], tuple[Fact, ...]] = field(default_factory=dict)
    contexts: dict[int, int] = field(default_factory=dict)
    """How often each shared region was solved."""
    latest: dict[int, tuple[tuple[Fact, ...], object, tuple[Fact, ...]]] = field(default_factory=dict)
    """The parameters, the place and the results of the last call of each shared region: the next is mostly alike."""
    read: Read[Fact] = field(init=False)
    """Gives the fact of a value in this context: one object, so that domains can tell whether they know it."""

    def __post_init__(self) -> None:
        self.read = self._read

    def _read(self, value: Value) -> Fact:
        fact = self.current.get(value)
        return self.domain.unknown(value) if fact is None else fact

    def write(self, values: Sequence[Value], facts: Sequence[Fact | None]) -> None:
        current = self.current
        for value, fact in zip(values, facts, strict=False):
            old = current.get(value)
            if old is not None and old is not fact:
                self.forget(value)
            if fact is not None:
                current[value] = fact

    def forget(self, value: Value) -> None:
        """Take the fact of a value for one of the past."""
        fact = self.current.pop(value, None)
        if fact is not None:
            past = self.past.get(value)
            self.past[value] = fact if past is None or past is fact else self.domain.join(past, fact)

    def recorded(self) -> dict[Value, Fact]:
        """Return the facts over all contexts."""
        for value in self.past:
            self.forget(value)
        return self.current | self.past

    def run(self, region: Region, params: Sequence[Fact]) -> bool:
        """Solve a region; False when control surely leaves before its end."""
        self.write(region.params, params)
        # The innermost loop of every analysis: most ops make one value, of which little is known.
        table, read, write = self.domain.table, self.read, self.write
        for position, op in enumerate(region.ops):
            if op.regions:
                goes_on = self.enter(op)
                self.write(op.results, self.domain.leave(op, self.read))
                if not goes_on:
                    self.drop(region.ops[position + 1 :])
                    return False
            elif (transfer := table.get(op.name)) is not None:
                made = transfer(op, read)
                if op.results:
                    write(op.results, made)
        return True

    def drop(self, ops: Sequence[Op]) -> None:
        """Forget what ops that do not run in this context made in another."""
        for op in ops:
            for value in op.results:
                self.forget(value)

    def enter(self, op: Op) -> bool:
        """Solve the regions of an op; False when control surely leaves the region that the op stands in."""
        only = self.domain.taken(op, self.read) if op.name in BRANCHES else None
        goes_on = True
        for position, region in enumerate(op.regions):
            if only is not None and position != only:
                self.drop(region.ops)
            elif self.domain.by_summary:
                self.summarise(op, region)
            elif op.name in LOOPS:
                self.repeat(op, region)
            elif region.shared:
                self.once(region, tuple(self.domain.enter(op, region, self.read, 0)))
            else:
                ended = self.run(region, self.domain.enter(op, region, self.read, 0))
                goes_on = goes_on and (only is None or (ended and region.exit is Exit.FALL))
        return goes_on

    def summarise(self, op: Op, region: Region) -> None:
        if id(region) not in self.summarised:
            self.summarised.add(id(region))
            self.run(region, self.domain.enter(op, region, self.read, 0))

    def once(self, region: Region, params: tuple[Fact, ...]) -> None:
        where = self.domain.place()
        before = self.latest.get(id(region))
        # Facts of equal calls are mostly the same objects, which compare at once; their hashes take long.
        if before is not None and before[0] == params and before[1] == where:
            self.write(region.results, before[2])
            return
        self.latest[id(region)] = (params, where, self._once(region, params, where))

    def _once(self, region: Region, params: tuple[Fact, ...], where: object) -> tuple[Fact, ...]:
        place = (id(region), params, where)
        if place not in self.memo and self.contexts.get(id(region), 0) >= MAX_CONTEXTS:
            place = (id(region), tuple(self.domain.unknown(value) for value in region.params), where)
        known = self.memo.get(place)
        if known is not None:
            self.write(region.results, known)
            return known
        self.contexts[id(region)] = self.contexts.get(id(region), 0) + 1
        self.run(region, place[1])
        found = self.memo[place] = tuple(self.read(value) for value in region.results)
        return found

    def repeat(self, op: Op, region: Region) -> None:
        """Solve a loop's body until what it is started with covers what it leaves behind."""
        params = list(self.domain.enter(op, region, self.read, 0))
        for turn in range(1, MAX_TURNS):
            self.run(region, params)
            again = self.domain.enter(op, region, self.read, turn)
            grown = [self.grow(turn, old, new) for old, new in zip(params, again, strict=True)]
            if grown == params:
                return
            params = grown
        self.run(region, [self.domain.unknown(value) for value in region.params])

    def grow(self, turn: int, old: Fact, new: Fact) -> Fact:
        early = turn < self.domain.widen_after
        return self.domain.join(old, new) if early else self.domain.widen(old, new)
