"""Forward: walks regions in order, joins branches, repeats loops until nothing changes, follows calls once.

Facts only grow: every fact that is recorded for a value covers all contexts in which the value was seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from jaxaudit import progress
from jaxaudit.analyses.domain import MAX_CONTEXTS, MAX_TURNS, Domain, Read, grow
from jaxaudit.ir import Exit, Op, Program, Region, Value
from jaxaudit.ir.builder import mentioned
from jaxaudit.ir.ops import BRANCHES, LOOPS

Fact = TypeVar("Fact")


@dataclass(slots=True)
class Forward(Generic[Fact]):
    """The state of one forward walk."""

    domain: Domain[Fact]
    current: dict[Value, Fact] = field(default_factory=dict)
    """The facts in the context that is being solved."""
    past: dict[Value, Fact] = field(default_factory=dict)
    """The facts over all earlier contexts, of values that had others there: most are met in one."""
    blank: set[Value] = field(default_factory=set)
    """The values of which nothing was known in some context."""
    summarised: set[int] = field(default_factory=set)
    memo: dict[tuple[int, tuple[Fact, ...], object], tuple[Fact, ...]] = field(default_factory=dict)
    contexts: dict[int, int] = field(default_factory=dict)
    """How often each shared region was solved."""
    latest: dict[int, tuple[tuple[Fact, ...], object, tuple[Fact, ...]]] = field(default_factory=dict)
    """The parameters, the place and the results of the last call of each shared region: the next is mostly alike."""
    moved: set[Value] | None = None
    """In a later turn of a loop: the values that depend on what changed since the turn before. All others stay."""
    leaving: set[int] = field(default_factory=set)
    """The ops after which control surely does not go on."""
    read: Read[Fact] = field(init=False)
    """Gives the fact of a value in this context: one object, so that domains can tell whether they know it."""

    def __post_init__(self) -> None:
        current, unknown = self.current, self.domain.unknown

        def read(value: Value) -> Fact:
            fact = current.get(value)
            return unknown(value) if fact is None else fact

        self.read = read

    def write(self, values: Sequence[Value], facts: Sequence[Fact | None]) -> None:
        """Set the facts of values that an op made."""
        current = self.current
        if len(values) == len(facts) == 1:
            # By far the most frequent case.
            value, fact = values[0], facts[0]
            old = current.get(value)
            if old is fact:
                return
            if old is not None:
                self.forget(value)
            if fact is not None:
                current[value] = fact
            else:
                self.blank.add(value)
            return
        for value, fact in zip(values, facts, strict=False):
            old = current.get(value)
            if old is not None and old is not fact:
                self.forget(value)
            if fact is not None:
                current[value] = fact
            else:
                self.blank.add(value)

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
        facts = self.current | self.past
        for value in self.blank & facts.keys():
            facts[value] = self.domain.join(facts[value], self.domain.unknown(value))
        return facts

    def run(self, region: Region, params: Sequence[Fact]) -> bool:
        """Solve a region; False when control surely leaves before its end."""
        self.write(region.params, params)
        # The innermost loop of every analysis: most ops make one value, of which little is known.
        table, read, write, moved = self.domain.table, self.read, self.write, self.moved
        for position, op in enumerate(region.ops):
            if op.regions:
                if not (self.enter(op) if moved is None else self.enter_again(op, moved)):
                    self.drop(region.ops[position + 1 :])
                    return False
                moved = self.moved
            elif (transfer := table.get(op.name)) is not None:
                if moved is not None:
                    if moved.isdisjoint(op.operands):
                        continue
                    moved.update(op.results)
                made = transfer(op, read)
                if made:
                    write(op.results, made)
        return True

    def drop(self, ops: Sequence[Op]) -> None:
        """Forget what ops that do not run in this context made in another."""
        for op in ops:
            for value in op.results:
                self.forget(value)

    def enter(self, op: Op) -> bool:
        """Solve an op with regions; False when control surely leaves the region that it stands in."""
        goes_on = self.solve(op)
        made = self.domain.leave(op, self.read)
        if not op.in_place:
            self.write(op.results, made)
        (self.leaving.discard if goes_on else self.leaving.add)(id(op))
        return goes_on

    def enter_again(self, op: Op, moved: set[Value]) -> bool:
        """Solve an op with regions in a later turn of a loop, as far as it depends on what changed."""
        given = (*op.operands, *mentioned(op))
        inner = [region for region in op.regions if not region.shared]
        left, inside = id(op) in self.leaving, any(_reads(one, moved) for one in inner)
        if moved.isdisjoint(given) and not inside:
            return not left
        moved.update(op.results)
        anew = op.name in LOOPS or not moved.isdisjoint(given)
        if anew:
            moved.update(*(values for one in inner for values in _made(one)))
            self.moved = None
        goes_on = self.enter(op)
        if left and goes_on:
            # What follows was not solved in the turn before.
            self.moved = None
        elif anew:
            self.moved = moved
        return goes_on

    def solve(self, op: Op) -> bool:
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
        """Solve a region, unless that was done before."""
        if id(region) not in self.summarised:
            self.summarised.add(id(region))
            self.run(region, self.domain.enter(op, region, self.read, 0))

    def once(self, region: Region, params: tuple[Fact, ...]) -> None:
        """Solve a shared body for the facts of its parameters, or take what was found for equal ones."""
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
            grown = [grow(self.domain, turn, old, new) for old, new in zip(params, again, strict=True)]
            changed = [one for one, old, new in zip(region.params, params, grown, strict=True) if old != new]
            if not changed:
                break
            self.moved, params = set(changed), grown
        else:
            self.moved = None
            self.run(region, [self.domain.unknown(value) for value in region.params])
        self.moved = None


def _reads(region: Region, values: set[Value]) -> bool:
    """Whether something in a region reads one of some values."""
    for one in _with_inner(region):
        if not values.isdisjoint(one.results):
            return True
        for op in one.ops:
            if not values.isdisjoint(op.operands):
                return True
    return False


def _made(region: Region) -> Iterator[tuple[Value, ...]]:
    """Return the values that are made in a region and in those inside it."""
    for one in _with_inner(region):
        yield one.params
        for op in one.ops:
            yield op.results


def _with_inner(region: Region) -> Iterator[Region]:
    """Return a region and those inside it, but for the closed bodies that several calls share."""
    pending = [region]
    for one in pending:
        yield one
        pending += [inner for op in one.ops if op.regions for inner in op.regions if not inner.shared]


def solve_forward(program: Program, domain: Domain[Fact]) -> dict[Value, Fact]:
    """Solve a domain from the beginnings of all roots."""
    solver = Forward(domain)
    for number, root in enumerate(program.roots):
        progress.tell(f"following {domain.name}", number, len(program.roots))
        solver.run(root.region, ())
    return solver.recorded()
