"""Uses of keys: what each region consumes, in terms of what it sees, summarised once and renamed at every call.

A *scope* is a region whose uses are judged together: a function's body with its `if`s, or the body of a loop. The uses
in a callee count at the call as one use of each key, because what happens among them was judged inside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from enum import Enum

from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.keys.holders import outside_of, stacked
from jaxaudit.analyses.keys.overlap import way
from jaxaudit.analyses.keys.rename import Rename
from jaxaudit.analyses.keys.terms import AnyOf, Choice, Each, Number, Part, Row, Term, Terms, View, alternatives
from jaxaudit.analyses.paths import Places
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.ops import BODIES, BRANCHES, DEFERRED, PYTHON_LOOPS
from jaxaudit.ir.record import entity, mutable, replace


class How(Enum):
    """What is done with a key."""

    DRAW = "draw"
    SPLIT = "split"
    FOLD = "fold"
    PASS = "pass"
    """Given to something that could not be followed: consumed for all we know."""


_DIRECT = {"key.draw": How.DRAW, "key.split": How.SPLIT, "key.fold_in": How.FOLD}
_MAX_WAYS = 8


@entity
class Use:
    """One use of one key, as seen in one scope."""

    term: Term
    how: How
    site: Op
    """The op of this scope that uses the key, or holds or calls what does."""
    spot: Op
    """Where people see it: the innermost op that is part of the same function."""
    value: Value | None
    """The value that was given, where the use is direct."""
    inner: Use | None = None
    """The use inside the callee or loop that this one stands for."""
    certain: bool = True
    """False when the key is only one of several that may be meant."""
    assume: tuple[tuple[Op, int], ...] = ()
    """The branch ops and regions that must have run for this key to be the one that is used."""

    @property
    def chain(self) -> Iterator[Use]:
        """This use and those inside it, down to where the key is given."""
        use: Use | None = self
        while use is not None:
            yield use
            use = use.inner

    @property
    def consumes(self) -> bool:
        """Whether the key is spent for sure."""
        return self.certain and self.how in (How.DRAW, How.SPLIT)

    @property
    def origin(self) -> Use:
        """The direct use that this one stands for."""
        use = self
        while use.inner is not None:
            use = use.inner
        return use


@entity
class Scope:
    """A region with the uses that are judged together, and the op that holds it (None for a root)."""

    region: Region
    op: Op | None
    uses: tuple[Use, ...]


@mutable
class Collector:
    """Collects scopes bottom-up, each region once."""

    terms: Terms
    places: Places
    read: Read[Term]
    escaped: Mapping[Term, Collection[Region]]
    """The keys that leave the region they were made in other than as its results, and the regions they reach."""
    scopes: list[Scope] = field(default_factory=list)
    _done: dict[int, tuple[Use, ...]] = field(default_factory=dict)

    def scope(self, region: Region, op: Op | None) -> tuple[Use, ...]:
        """Return the uses in a region, its branches included."""
        uses = self._done.get(id(region))
        if uses is None:
            uses = self._done[id(region)] = tuple(self._uses(region))
            self.scopes.append(Scope(region, op, uses))
        return uses

    def _uses(self, region: Region) -> Iterator[Use]:
        for op in region.ops:
            if op.name in _DIRECT:
                for value in values_in(op.arguments.get("key")):
                    yield from self._direct(op, value, _DIRECT[op.name])
            elif op.name == "py.call_unknown":
                for value in op.operands:
                    yield from self._direct(op, value, How.PASS)
            elif op.name == "py.branch":
                for inner in op.regions:
                    yield from self._uses(inner)
            elif op.regions:
                yield from self._nested(op)

    def _direct(self, op: Op, value: Value, how: How) -> Iterator[Use]:
        for term in alternatives(self.terms, self.read(value)):
            for item, certain, assume in _ways(term):
                if not isinstance(way(item)[0], Number):
                    yield Use(item, how, op, op, value, None, certain, assume)

    def _nested(self, op: Op) -> Iterator[Use]:
        for number, region in enumerate(op.regions):
            uses = self.scope(region, op)
            if uses and op.name != "abstract":
                rename = Rename(self.terms, self.places, op, region, outside_of(self.terms, op, region, self.read))
                exported = self._exported(op, region, uses, rename)
                yield from (_taken(use, op, number) for use in exported) if op.name in BRANCHES else exported

    def _exported(self, op: Op, region: Region, uses: tuple[Use, ...], rename: Rename) -> Iterator[Use]:
        returned = {way(self.read(value))[0] for value in region.results} if op.name in BODIES else set()
        collected = {self.read(inside): self.read(result) for inside, result in stacked(op, region)}
        for use in _strongest(uses):
            use = self._placed(use, region)
            start = way(use.term)[0]
            rows = self._rows(use.term, collected)
            if rows is not None:
                yield from self._export(op, use, rows)
            escapes = self._escapes(start, region)
            if escapes:
                yield from self._export(op, use, use.term)
            if start in returned or rename.concerns_outside(use.term):
                seen = rename(use.term)
                if seen is not use.term or not escapes:
                    yield from self._export(op, use, seen)

    def _placed(self, use: Use, region: Region) -> Use:
        """Note in which branches of a region a use stands: outside of it nobody sees them."""
        taken: list[tuple[Op, int]] = []
        for inner, holder in self.places.up(self.places.region_of[use.spot]):
            if inner is region or holder is None:
                break
            if holder.name == "py.branch":
                taken.append((holder, next(i for i, one in enumerate(holder.regions) if one is inner)))
        return replace(use, assume=(*use.assume, *taken)) if taken else use

    def _rows(self, term: Term, collected: Mapping[Term, Term]) -> Term | None:
        """Return a key of one turn as what it is outside: a row of the array in which all turns are collected."""
        if term in collected:
            return self.terms.make(Each, collected[term])
        if isinstance(term, (Row, Part, View, Each)) and (base := self._rows(term.base, collected)) is not None:
            return self._on(term, base)
        return None

    def _on(self, term: Row | Part | View | Each, base: Term) -> Term:
        """Take the same rows of another array of keys."""
        match term:
            case Row(_, index):
                return self.terms.make(Row, base, index)
            case Part(_, start, stop):
                return self.terms.make(Part, base, start, stop)
            case View(_, tag):
                return self.terms.make(View, base, tag)
        return self.terms.make(Each, base)

    def _escapes(self, start: Term, region: Region) -> bool:
        """Whether a key is met outside a region though it is none of its results."""
        return any(not self.places.within(user, region) for user in self.escaped.get(start, ()))

    def _export(self, op: Op, use: Use, seen: Term) -> Iterator[Use]:
        how = How.PASS if op.name in DEFERRED else use.how
        spot = use.spot if op.name in PYTHON_LOOPS else op
        for term in alternatives(self.terms, seen):
            for item, certain, assume in _ways(term):
                if not isinstance(way(item)[0], Number):
                    yield Use(item, how, op, spot, use.value, use, certain and use.certain, (*use.assume, *assume))


def _taken(use: Use, op: Op, region: int) -> Use:
    """Note that a use only happens in one branch of its op."""
    return replace(use, assume=(*use.assume, (op, region)))


def _strongest(uses: tuple[Use, ...]) -> Iterable[Use]:
    """Keep one use of each key: one that spends it, if there is one."""
    strongest: dict[Term, Use] = {}
    for use in uses:
        known = strongest.get(use.term)
        if known is None or _rank(use) > _rank(known):
            strongest[use.term] = use
    return strongest.values()


def _rank(use: Use) -> int:
    return 3 if use.consumes else (1 if use.how is How.FOLD else 2)


_Way = tuple[Term, bool, tuple[tuple[Op, int], ...]]


def _ways(term: Term) -> list[_Way]:
    """Return the keys that a joined term may be: certain where the branch taken says which."""
    pending: list[_Way] = [(term, True, ())]
    found: list[_Way] = []
    while pending and len(found) < _MAX_WAYS:
        item, certain, assume = pending.pop(0)
        if isinstance(item, Choice):
            ways = [(part, certain, (*assume, (item.op, i))) for i, part in enumerate(item.items) if part is not None]
            pending.extend(ways)
        elif isinstance(item, AnyOf):
            pending.extend((part, False, assume) for part in sorted(item.items, key=id))
        else:
            found.append((item, certain, assume))
    return found
