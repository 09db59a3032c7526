"""Renaming: what a term of a region means outside it, for one op that holds the region.

Parameters become operands. In a shared region, what was made inside is marked with the op, so that two calls of one
function make different keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from jaxaudit.analyses.keys.terms import (
    AnyOf,
    Atom,
    Choice,
    Each,
    Fold,
    Part,
    Repeat,
    Row,
    Seed,
    Split,
    Stack,
    Steps,
    Tag,
    Term,
    Terms,
    Tick,
    View,
)
from jaxaudit.analyses.paths import Places
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.record import mutable


@mutable
class Rename:
    """The renaming of one region's terms for one op that holds it."""

    terms: Terms
    places: Places
    op: Op
    region: Region
    outside: Mapping[Value, Term]
    """What each parameter of the region stands for."""
    memo: dict[Term, Term] = field(default_factory=dict)

    def __call__(self, term: Term) -> Term:
        """Return the term as seen outside."""
        known = self.memo.get(term)
        if known is None:
            known = self.memo[term] = self._rename(term)
        return known

    def _rename(self, term: Term) -> Term:
        make = self.terms.make
        match term:
            case Atom():
                return self._atom(term)
            case Seed(tag, data):
                return make(Seed, self._tag(tag), self(data))
            case Split(parent, tag, num):
                return make(Split, self(parent), self._tag(tag), self(num))
            case Fold(parent, data):
                return make(Fold, self(parent), self(data))
            case Row(base, index):
                return self.terms.row(self(base), self(index))
            case Part(base, start, stop):
                return self.terms.part(self(base), start, stop)
            case Each(base):
                return self.terms.each(self(base))
            case View(base, tag) | Repeat(base, tag):
                return make(type(term), self(base), self._tag(tag))
        return self._rename_joined(term)

    def _rename_joined(self, term: Term) -> Term:
        make = self.terms.make
        match term:
            case Steps(start, stop, step):
                return make(Steps, self(start), self(stop), self(step))
            case Tick(index, steps):
                return self(steps) if self(index) is not index else make(Tick, index, self(steps))
            case Stack(items, aligned):
                return make(Stack, tuple(self(item) for item in items), aligned)
            case Choice(op, items):
                return self.terms.choice(op, [None if item is None else self(item) for item in items]) or term
            case AnyOf(items):
                return self.terms.any_of([self(item) for item in items])
        return term

    def _atom(self, term: Atom) -> Term:
        value, tag = term.value, term.tag
        if not tag and value in self.outside:
            return self.outside[value]
        inside = self.region.shared and self._atom_inside(value, tag)
        return self.terms.atom(value, (self.op, *tag), opaque=term.opaque) if inside else term

    def _atom_inside(self, value: Value, tag: Tag) -> bool:
        region = self.places.region_of[tag[0]] if tag else self.places.region_of_value(value)
        return self.places.within(region, self.region)

    def _tag(self, tag: Tag) -> Tag:
        return (self.op, *tag) if self.region.shared and self.made_inside(tag) else tag

    def made_inside(self, tag: Tag) -> bool:
        """Whether an op stands in the region."""
        return self.places.within(self.places.region_of[tag[0]], self.region)

    def concerns_outside(self, term: Term) -> bool:
        """Whether using a term uses something that exists outside the region."""
        match term:
            case Atom(value, tag):
                return (not tag and value in self.outside) or not self._atom_inside(value, tag)
            case Seed(tag, _):
                return not self.made_inside(tag)
            case Split(_, tag, _):
                return not self.made_inside(tag)
            case Fold(parent):
                # Whether what is folded in is new every time is a question for whoever calls it again and again.
                return self.concerns_outside(parent)
            case Row(base) | Part(base) | Each(base) | View(base) | Repeat(base):
                return self.concerns_outside(base)
            case Stack(items) | AnyOf(items) | Choice(_, items):
                return any(item is not None and self.concerns_outside(item) for item in items)
            case Tick(index, _):
                return self.concerns_outside(index)
        return True
