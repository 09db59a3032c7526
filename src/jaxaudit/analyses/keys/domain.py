"""The keys domain: gives every value the term of the key it holds, and answers what ops with regions leave behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxaudit.analyses.domain import (
    WIDEN_AFTER,
    Direction,
    Read,
    Solution,
    Transfer,
    any_branch,
    anywhere,
    never_parts,
    not_at_once,
)
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys.facts import KeyFacts, about_keys
from jaxaudit.analyses.keys.holders import bindings, outside_of, stacked
from jaxaudit.analyses.keys.overlap import way
from jaxaudit.analyses.keys.rename import Rename
from jaxaudit.analyses.keys.terms import AnyOf, Choice, Each, Fold, Term, Terms, folds_range, is_opaque
from jaxaudit.analyses.keys.transfer import TransferTable
from jaxaudit.ir import Exit, Op, Program, Region, Value
from jaxaudit.ir.interfaces import Loop, inside_of
from jaxaudit.ir.ops import BODIES, BRANCHES, LOOPS, MAPPED


class KeysDomain:
    """Where each key comes from: every region is solved once."""

    name = "keys"
    direction = Direction.FORWARD
    by_summary = True
    widen_after = WIDEN_AFTER
    parts = never_parts
    taken = any_branch
    place = anywhere
    at_once = not_at_once

    def __init__(self, facts: Facts) -> None:
        self.terms = Terms()
        self.places = facts.places
        self._table = TransferTable(self.terms, facts.program).table

    @property
    def table(self) -> Mapping[str, Transfer[Term]]:
        """The transfer functions by op name."""
        return self._table

    def unknown(self, value: Value) -> Term:
        """Let a value stand for itself: a parameter is what callers give, a new array is the data of a key of its own.

        Of anything else nothing is known.
        """
        maker = self.places.maker.get(value)
        own = value in self.places.owner or (maker is not None and maker.name == "array.create")
        return self.terms.atom(value, opaque=not own)

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
        """Return what the results of an op with regions are, in terms of what is visible outside."""
        if op.name in BODIES:
            return self._returned(op, op.regions[0], read)
        if op.name in BRANCHES:
            return self._choose(op, [self._left(region, read) for region in op.regions])
        if op.name not in LOOPS and op.name not in MAPPED:
            return ()
        outside = outside_of(self.terms, op, op.regions[-1], read)
        rename = Rename(self.terms, self.places, op, op.regions[-1], outside)
        left = self._handed_through(op, read, outside, rename)
        return [self._made(op, i, read, rename) if term is None else term for i, term in enumerate(left)]

    def part(self, facts: Facts) -> Program:
        """Return the part of a program in which keys are made or used."""
        return about_keys(facts)

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

    def _made(self, op: Op, position: int, read: Read[Term], rename: Rename) -> Term | None:
        """Let a result stand for itself: another key than any outside, where each turn surely makes it."""
        inside = [read(value) for _, value in inside_of(op, position)]
        if not inside or any(is_opaque(term) for term in inside):
            return None
        ways = (item for term in inside for item in (term.items if isinstance(term, AnyOf | Choice) else (term,)))
        starts = {way(item)[0] for item in ways if item is not None}
        kept = any(not isinstance(start, Fold) and rename.concerns_outside(start) for start in starts)
        return self.terms.atom(op.results[position], opaque=kept)

    def _handed_through(
        self, op: Op, read: Read[Term], outside: Mapping[Value, Term], rename: Rename
    ) -> list[Term | None]:
        """Find what comes out as it went in: a value that every turn hands on, rows that are collected as they came.

        So do the keys that the numbers of a range give.
        """
        left: list[Term | None] = [None] * len(op.results)
        region = op.regions[-1]
        for param, start, position in Loop(op).carried_in(region) if op.name in LOOPS else ():
            same = position < len(region.results) and read(region.results[position]) is read(param)
            if same and position < len(left):
                left[position] = read(start)
        for inside, result in stacked(op, region):
            whole = outside.get(inside)
            if isinstance(whole, Each):
                left[op.results.index(result)] = whole.base
            elif isinstance(read(inside), Fold) and folds_range(rename(read(inside))):
                left[op.results.index(result)] = rename(read(inside))
        return left
