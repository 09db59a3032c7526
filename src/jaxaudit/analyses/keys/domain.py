"""The keys domain: gives every value the term of the key it holds, and answers what ops with regions leave behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from jaxaudit.analyses.domain import WIDEN_AFTER, Direction, Read, Transfer, any_branch, anywhere
from jaxaudit.analyses.keys.facts import KeyFacts
from jaxaudit.analyses.keys.holders import bindings, outside_of, stacked
from jaxaudit.analyses.keys.rename import Rename
from jaxaudit.analyses.keys.terms import Atom, Each, Term, Terms
from jaxaudit.analyses.keys.transfer import TransferTable
from jaxaudit.ir import Exit, Op, Region, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import BODIES, BRANCHES, LOOPS, VOCABULARY

if TYPE_CHECKING:
    from jaxaudit.analyses.facts import Facts
    from jaxaudit.analyses.solve import Solution


_ABOUT_KEYS = ("py.call_unknown", *(name for name in VOCABULARY if name.startswith("key.")))


class KeysDomain:
    """Where each key comes from: every region is solved once."""

    name = "keys"
    direction = Direction.FORWARD
    by_summary = True
    must = False
    widen_after = WIDEN_AFTER
    taken = any_branch
    place = anywhere

    def __init__(self, facts: Facts) -> None:
        self.terms = Terms()
        self.places = facts.places
        self._table = TransferTable(self.terms, facts.program).table

    @property
    def table(self) -> Mapping[str, Transfer[Term]]:
        """The transfer functions by op name."""
        return self._table

    def unknown(self, value: Value) -> Term:
        """Let a value stand for itself."""
        return self.terms.make(Atom, value, ())

    def join(self, first: Term, second: Term) -> Term:
        """Return a term for one of two keys."""
        return self.terms.any_of((first, second))

    def widen(self, old: Term, new: Term) -> Term:
        """Return a term for one of two keys; by summary no sequence of terms rises."""
        return self.join(old, new)

    def enter(self, op: Op, region: Region, read: Read[Term], turn: int) -> Sequence[Term]:
        """Bind parameters to operands where one key is meant; elsewhere let them stand for themselves."""
        bound = bindings(op, region)
        return [read(bound[param]) if param in bound else self.unknown(param) for param in region.params]

    def leave(self, op: Op, read: Read[Term]) -> Sequence[Term | None]:
        """Say what the results of an op with regions are, in terms of what is visible outside."""
        if op.name in BODIES:
            return self._returned(op, op.regions[0], read)
        if op.name in BRANCHES:
            return self._choose(op, [self._left(region, read) for region in op.regions])
        return self._after_loop(op, read) if op.name in LOOPS else ()

    def at_once(self, facts: Facts) -> KeyFacts | None:
        """Return the result for a program in which no key is made or used."""
        if next(facts.program.named(*_ABOUT_KEYS), None) is not None:
            return None
        return KeyFacts(facts, self.terms, self.unknown, ())

    def finish(self, facts: Facts, solution: Solution[Term]) -> KeyFacts:
        """Collect the uses of keys."""
        return KeyFacts.of(facts, self.terms, solution)

    def _returned(self, op: Op, region: Region, read: Read[Term]) -> list[Term]:
        left = [read(value) for value in region.results]
        if not region.shared:
            return left
        rename = Rename(self.terms, self.places, op, region, outside_of(self.terms, op, region, read))
        return [rename(term) for term in left]

    def _left(self, region: Region, read: Read[Term]) -> list[Term] | None:
        return None if region.exit is not Exit.FALL else [read(value) for value in region.results]

    def _choose(self, op: Op, ways: Sequence[list[Term] | None]) -> list[Term | None]:
        def item(way: list[Term] | None, position: int) -> Term | None:
            return way[position] if way is not None and position < len(way) else None

        return [self.terms.choice(op, [item(way, i) for way in ways]) for i in range(len(op.results))]

    def _after_loop(self, op: Op, read: Read[Term]) -> list[Term | None]:
        """A carried value that every turn hands on unchanged is still the initial one; any other stands for itself."""
        left: list[Term | None] = [None] * len(op.results)
        region = op.regions[-1]
        for param, start, position in Loop(op).carried_in(region):
            same = position < len(region.results) and read(region.results[position]) is read(param)
            if same and position < len(left):
                left[position] = read(start)
        outside = outside_of(self.terms, op, region, read)
        for inside, result in stacked(op, region):
            # Rows that are collected as they came are the array that they came from.
            whole = outside.get(inside)
            if isinstance(whole, Each):
                left[op.results.index(result)] = whole.base
        return left
