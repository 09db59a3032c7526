"""What rules read of the keys domain: the term of every value, and the scopes with their uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.keys.overlap import way
from jaxaudit.analyses.keys.terms import Term, Terms
from jaxaudit.analyses.keys.uses import Collector, Scope
from jaxaudit.analyses.paths import Places
from jaxaudit.ir import Program
from jaxaudit.ir.ops import LOOPS, MAPPED


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """The solved keys domain."""

    terms: Terms
    places: Places
    term: Read[Term]
    scopes: tuple[Scope, ...]

    @classmethod
    def of(cls, program: Program, places: Places, terms: Terms, term: Read[Term]) -> KeyFacts:
        """Collect the uses of every root, and note which op made which term."""
        escaped = {way(term(value))[0] for value in places.escaped}
        collector = Collector(terms, places, term, escaped)
        for root in program.roots:
            collector.scope(root.region, None)
        for value, op in places.maker.items():
            terms.made_by.setdefault(term(value), (op, value))
        return cls(terms, places, term, tuple(collector.scopes))

    def loops(self) -> Iterator[Scope]:
        """Give the scopes that run again and again."""
        return (scope for scope in self.scopes if scope.op is not None and scope.op.name in LOOPS)

    def mapped(self) -> Iterator[Scope]:
        """Give the scopes that run for every element of something."""
        return (scope for scope in self.scopes if scope.op is not None and scope.op.name in MAPPED)
