"""What rules read of the keys domain: the term of every value, and the scopes with their uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from jaxaudit.analyses.domain import Read, Solution
from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.keys.conflicts import Conflict, conflicts
from jaxaudit.analyses.keys.fates import Fates
from jaxaudit.analyses.keys.overlap import way
from jaxaudit.analyses.keys.terms import Constant, Term, Terms, rows_behind
from jaxaudit.analyses.keys.turns import Turn, Turns, Verdict
from jaxaudit.analyses.keys.uses import Collector, How, Scope, Use
from jaxaudit.analyses.parts import part_around, roots_around
from jaxaudit.analyses.paths import Places
from jaxaudit.analyses.queries import ahead, behind, nothing, through_ops, walk
from jaxaudit.ir import Op, Program, Region
from jaxaudit.ir.ops import BODIES, INLINE, LOOPS, MAPPED, PASSED_ON, SELECTED, STORES, VOCABULARY

_ABOUT_KEYS = tuple(name for name in VOCABULARY if name.startswith("key."))


@remembered
def about_keys(facts: Facts) -> Program:
    """Return the part of a program in which keys are made or used."""
    used = (facts.places.region_of[op] for op in facts.program.named(*_ABOUT_KEYS))
    return part_around(facts, roots_around(facts, used))


@dataclass(frozen=True)
class KeyFacts:
    """The solved keys domain."""

    facts: Facts
    terms: Terms
    term: Read[Term]
    scopes: tuple[Scope, ...]

    @classmethod
    def of(cls, facts: Facts, terms: Terms, solution: Solution[Term]) -> KeyFacts:
        """Collect the uses of every root, and note which op made which term."""
        term, places = solution.of, facts.places
        escaped: dict[Term, set[Region]] = {}
        for value, users in places.escaped.items():
            escaped.setdefault(way(term(value))[0], set()).update(users)
        collector = Collector(terms, places, term, escaped)
        for root in about_keys(facts).roots:
            collector.scope(root.region, None)
        for value, fact in solution.facts.items():
            if (op := places.maker.get(value)) is not None:
                terms.made_by.setdefault(fact, (op, value))
        return cls(facts, terms, term, tuple(collector.scopes))

    @property
    def program(self) -> Program:
        """The program whose keys these are."""
        return self.facts.program

    @property
    def places(self) -> Places:
        """Where each op stands."""
        return self.facts.places

    @cached_property
    def fates(self) -> Fates:
        """What becomes of drawn numbers; indexed only when something was found."""
        return Fates(self.facts.flow)

    @cached_property
    def fruitful(self) -> Mapping[Op, Set[Constant | None]]:
        """The splits whose keys are used, stored or given back to a caller that is not known, with their rows."""
        given = [use.term for scope in self.scopes for use in scope.uses]
        given += [self.term(value) for root in self.program.roots for value in root.region.results]
        stores = (op for op in self.program.walk() if op.name in STORES)
        given += [self.term(value) for op in stores for value in op.operands]
        return rows_behind(given)

    @cached_property
    def handed_out(self) -> Set[Term]:
        """The keys that functions give back to callers which are not known, inside of the calls that made them too."""
        roots = {id(root.region) for root in self.program.roots}
        returns = (op for op in self.program.named("py.return") if self._is_open(op, roots))
        given = (value for op in returns for value in op.operands)
        return {self.term(value) for value in walk(given, lambda one: behind(self.facts.flow, one, nothing))}

    def _is_open(self, op: Op, roots: Set[int]) -> bool:
        """Whether an op stands in a root itself, in branches and loops at most, and what a transformation is given."""
        around = self.places.up(self.places.region_of[op])
        return all(id(region) in roots if holder is None else self._is_passed(holder) for region, holder in around)

    def _is_passed(self, holder: Op) -> bool:
        """Whether what leaves a region leaves its op too: what is only transformed has no callers in sight."""
        if holder.name in INLINE:
            return True
        home, made = self.places.region_of[holder], holder.results
        given = all(one in home.results for one in made) or not any(map(self.facts.flow.is_read, made))
        return given and (holder.name in MAPPED or holder.name in BODIES)

    def is_drawn_from(self, use: Use) -> bool:
        """Whether a callee that could not be followed gives something for a key that is no key itself.

        One that gives nothing writes the key down, and one that gives a key hands it on.
        """
        given, flow = use.site.results, self.facts.flow
        if use.how is not How.PASS or use.inner is not None or not any(flow.is_read(one) for one in given):
            return False
        on = walk(given, lambda one: ahead(flow, one, through_ops(*PASSED_ON, *SELECTED)))
        return not any(reader.name.startswith("key.") for one in on for reader in flow.readers.get(one, ()))

    @cached_property
    def conflicts(self) -> tuple[tuple[Scope, Mapping[Use, Conflict]], ...]:
        """The scopes, each with the uses in it that repeat an earlier one."""
        return tuple((scope, conflicts(scope, self.facts.flow)) for scope in self.scopes)

    def conflicts_in(self, program: Program) -> Sequence[tuple[Scope, Mapping[Use, Conflict]]]:
        """Return the scopes of a part of the program, each with the uses in it that repeat an earlier one."""
        if program is self.program:
            return self.conflicts
        return [self._conflicts_by[id(one)] for one in program.regions() if id(one) in self._conflicts_by]

    @cached_property
    def _conflicts_by(self) -> Mapping[int, tuple[Scope, Mapping[Use, Conflict]]]:
        return {id(scope.region): (scope, found) for scope, found in self.conflicts}

    @cached_property
    def loops(self) -> tuple[tuple[Scope, tuple[Verdict, ...]], ...]:
        """The scopes that run again and again, each use with what becomes of it in the next turn."""
        return self._judged(LOOPS)

    @cached_property
    def mapped(self) -> tuple[tuple[Scope, tuple[Verdict, ...]], ...]:
        """The scopes that run for every element of something, each use with what becomes of it for the next one."""
        return self._judged(MAPPED)

    def _judged(self, names: Set[str]) -> tuple[tuple[Scope, tuple[Verdict, ...]], ...]:
        homes = {use.site: scope for scope in self.scopes for use in scope.uses}
        turns = Turns(self.terms, self.places, self.term, homes)
        scopes = [scope for scope in self.scopes if scope.op is not None and scope.op.name in names]
        return tuple((scope, tuple(turns.judge(scope))) for scope in scopes)

    @cached_property
    def repeated(self) -> frozenset[Op]:
        """The ops whose key is the same, or used again, in another turn of a loop around them."""
        bad = (Turn.SAME, Turn.HANDED_ON)
        return frozenset(one.use.spot for _, verdicts in self.loops for one in verdicts if one.turn in bad)
