"""Terms: where a key comes from, as a small expression over seeds, splits, rows and fold-ins.

Two values with the same term hold the same key in the same execution. Terms are interned, so that equal terms are one
object: comparing, hashing and substituting cost the same however long the history of a key is.

A `tag` is the way to the op that made something: that op alone, or the calls that lead to it followed by the op. Two
splits of one key thus have different terms: splitting twice is found at the second split, not again at every subkey.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import TypeVar

from jaxaudit.ir import Op, Value
from jaxaudit.ir.record import entity, mutable

Tag = tuple[Op, ...]
Constant = int | str


@entity
class Atom:
    """A value that stands for itself: a parameter, what a loop leaves behind, or what something unmodelled made."""

    value: Value
    tag: Tag = ()
    opaque: bool = False
    """Whether nothing is known of where it comes from: it may be any of the keys that it was computed from."""


@entity
class Number:
    """A constant number or text: an index, the data of a fold-in."""

    value: Constant


@entity
class Seed:
    """A key made from a number."""

    tag: Tag
    data: Term


@entity
class Split:
    """The array of keys that one split made; `num` is a `Number` where the count is known."""

    parent: Term
    tag: Tag
    num: Term


@entity
class Fold:
    """A key with data folded in; an array of keys, one for each number, where the data are a range."""

    parent: Term
    data: Term


@entity
class Row:
    """One key of several: a row of an array of keys, or an entry of a mapping or a record."""

    base: Term
    index: Term


@entity
class Part:
    """A slice of an array of keys with constant bounds; `stop` is None for the end."""

    base: Term
    start: int
    stop: int | None


@entity
class Each:
    """Every row of an array of keys, one after the other or side by side."""

    base: Term


@entity
class Steps:
    """The numbers of a range, as an index: those that a loop goes through, or an array has."""

    start: Term
    stop: Term
    step: Term


@entity
class Stack:
    """Several keys seen as one value; `aligned` when row i is item i."""

    items: tuple[Term, ...]
    aligned: bool


@entity
class Choice:
    """One of several keys: item i is what region i of the branch left behind (None when it left nothing)."""

    op: Op
    items: tuple[Term | None, ...]


@entity
class AnyOf:
    """One of several keys, where nothing says which path leads to which."""

    items: frozenset[Term]


@entity
class Tick:
    """The number that a range gives in this turn of a loop; `index` is the loop's own count of turns."""

    index: Term
    steps: Term


@entity
class View:
    """The same keys in another arrangement (reshaped, moved, gathered): which row is which is not known."""

    base: Term
    tag: Tag


@entity
class Repeat:
    """Copies of the same key side by side: `jnp.tile(key, ...)`, `jnp.broadcast_to(key, ...)`."""

    base: Term
    tag: Tag


@entity
class Global:
    """A module-level variable that nothing stores to."""

    name: str


Term = (
    Atom
    | Number
    | Seed
    | Split
    | Fold
    | Row
    | Part
    | Each
    | Steps
    | Tick
    | Stack
    | Choice
    | AnyOf
    | View
    | Repeat
    | Global
)

END = "end"
"""Stands for the length of whatever is indexed, as the stop of `Steps`."""

SHORTEST = "shortest"
"""Stands for a stop that is not known: the length of the shortest of several things."""

MAX_DEPTH = 100
"""A key with a longer history stands for itself from there on, so that walks over terms stay shallow."""

Made = TypeVar("Made", bound=Term)


@mutable
class Terms:
    """The table of all terms of one analysis: the only way to make a term."""

    table: dict[tuple[object, ...], Term] = field(default_factory=dict)
    depth: dict[object, int] = field(default_factory=dict)
    made_by: dict[Term, tuple[Op, Value]] = field(default_factory=dict)
    """The op and value that a term was first the fact of, for explanations."""

    def make(self, kind: Callable[..., Made], *parts: object) -> Made:
        """Return the one term with these parts."""
        place = (kind, *parts)
        term = self.table.get(place)
        if term is None:
            term = self.table[place] = kind(*parts)
            # Parts that are no terms have no depth, so they count as nothing.
            self.depth[term] = 1 + max([self.depth.get(part, 0) for part in parts])
        return term  # type: ignore[return-value]

    def atom(self, value: Value, tag: Tag = (), *, opaque: bool = False) -> Atom:
        """Return the term of a value that stands for itself."""
        return self.make(Atom, value, tag, opaque)

    def number(self, value: Constant) -> Number:
        """Return the term of a constant."""
        # True == 1 and 1.0 == 1 in Python; only the exact type may share an entry.
        return self.make(Number, int(value) if isinstance(value, bool) else value)

    def row(self, base: Term, index: Term) -> Term:
        """Index an array of keys, resolving what is known of its rows: of each array that may be meant by itself."""
        if isinstance(base, AnyOf):
            return self.any_of(self.row(item, index) for item in base.items)
        if isinstance(index, Number) and isinstance(index.value, int):
            return self._constant_row(base, index.value)
        if isinstance(index, Steps) and covers(index, base):
            return self.make(Each, base)
        return self.make(Row, base, index)

    def each(self, base: Term) -> Term:
        """Return what one row after the other of an array is; the numbers of a range are that already."""
        return base if isinstance(base, Steps) or folds_range(base) else self.make(Each, base)

    def _constant_row(self, base: Term, index: int) -> Term:
        count = length(base)
        if index < 0 and count is not None and -index <= count:
            index += count
        if isinstance(base, Part) and index >= 0 and base.start >= 0:
            return self.row(base.base, self.number(base.start + index))
        if isinstance(base, Stack) and base.aligned and -len(base.items) <= index < len(base.items):
            return base.items[index]
        if isinstance(base, Repeat):
            return base.base
        match base:
            case Fold(parent, Steps(Number(int(start)), _, Number(int(step)))) if index >= 0:
                return self.make(Fold, parent, self.number(start + step * index))
        return self.make(Row, base, self.number(index))

    def part(self, base: Term, start: int, stop: int | None) -> Term:
        """Slice an array of keys; of each array that may be meant by itself."""
        if isinstance(base, AnyOf):
            return self.any_of(self.part(item, start, stop) for item in base.items)
        count = length(base)
        if count is not None:
            start, stop, _ = slice(start, stop).indices(count)
        if isinstance(base, Stack) and base.aligned:
            return self.make(Stack, base.items[start:stop], True)
        if isinstance(base, Part) and start >= 0 and base.start >= 0 and (stop is None or stop >= 0):
            stop = base.stop if stop is None else base.start + stop
            return self.make(Part, base.base, base.start + start, stop)
        return self.make(Part, base, start, stop)

    def choice(self, op: Op, items: Iterable[Term | None]) -> Term | None:
        """Join what the regions of a branch left behind; one term when all are the same."""
        all_items = tuple(items)
        distinct = {item for item in all_items if item is not None}
        if len(distinct) == 1:
            return distinct.pop()
        return self.make(Choice, op, all_items) if distinct else None

    def any_of(self, items: Iterable[Term]) -> Term:
        """Join terms in no order; one term when all are the same."""
        flat: set[Term] = set()
        for item in items:
            flat.update(item.items if isinstance(item, AnyOf) else (item,))
        return flat.pop() if len(flat) == 1 else self.make(AnyOf, frozenset(flat))

    def shallow(self, term: Term, value: Value) -> Term:
        """Return the term, or the value it is the fact of once the history is too long."""
        return term if self.depth[term] < MAX_DEPTH else self.atom(value)


def length(term: Term) -> int | None:
    """Return how many rows a term has, where that is known."""
    if isinstance(term, Split) and isinstance(term.num, Number) and isinstance(term.num.value, int):
        return term.num.value
    if isinstance(term, Stack) and term.aligned:
        return len(term.items)
    if isinstance(term, Part) and term.start >= 0 and term.stop is not None and term.stop >= term.start:
        return term.stop - term.start
    return None


def covers(steps: Steps, base: Term) -> bool:
    """Whether the numbers of a range are all the rows of an array of keys."""
    whole = [isinstance(part, Number) and part.value == number for part, number in ((steps.start, 0), (steps.step, 1))]
    ends = isinstance(steps.stop, Number) and steps.stop.value == END
    return all(whole) and (ends or (isinstance(base, Split) and steps.stop is base.num))


def root(term: Term) -> Term:
    """Return the key that a term is a row, a part or another arrangement of."""
    while isinstance(term, (Row, Part, Each, View, Repeat)):
        term = term.base
    return term


def history(term: Term) -> Iterator[Term]:
    """Return the key that a term is a part of, the one that was split or folded to give it, and so on back."""
    term = root(term)
    yield term
    while isinstance(term, (Split, Fold)):
        term = root(term.parent)
        yield term


def is_opaque(term: Term) -> bool:
    """Whether a key may be another one that the program knows under another term."""
    match root(term):
        case Atom(_, _, opaque):
            return opaque
        case Fold(parent):
            return is_opaque(parent)
        case Stack(items) | AnyOf(items) | Choice(_, items):
            return any(item is not None and is_opaque(item) for item in items)
    # What a split gives is new, whatever was split: that the same is split twice is found at the split.
    return False


def rows_behind(terms: Iterable[Term]) -> dict[Op, set[Constant | None]]:
    """Return the split ops in the history of some terms, each with the rows that were taken.

    None stands for any row.
    """
    seen: set[Term] = set()
    found: dict[Op, set[Constant | None]] = {}
    pending = list(terms)
    while pending:
        term = pending.pop()
        if term in seen:
            continue
        seen.add(term)
        match term:
            case Row(Split(parent, tag, _), Number(index)):
                found.setdefault(tag[-1], set()).add(index)
                pending.append(parent)
            case Split(parent, tag, _):
                found.setdefault(tag[-1], set()).add(None)
                pending.append(parent)
            case Row(parent) | Part(parent) | Each(parent) | View(parent) | Repeat(parent) | Fold(parent):
                pending.append(parent)
            case Stack(items) | AnyOf(items) | Choice(_, items):
                pending.extend(item for item in items if item is not None)
    return found


def folds_range(term: Term) -> bool:
    """Whether a term is the keys that the numbers of a range give."""
    return isinstance(term, Fold) and isinstance(term.data, Steps)


def is_single(term: Term) -> bool:
    """Whether a term is one key for sure, not an array of keys."""
    if isinstance(term, Row | Each) and isinstance(term.base, Split):
        # The rows of what a shape was asked for are arrays of keys themselves.
        return not isinstance(term.base.tag[-1].arguments.get("num"), tuple)
    return isinstance(term, Seed | Fold) and not folds_range(term)


def alternatives(terms: Terms, term: Term) -> tuple[Term, ...]:
    """Return the keys that using a term uses: every item of a stack, the term itself otherwise."""
    match term:
        case Stack(items):
            found = [key for item in items for key in alternatives(terms, item)]
        case Each(Stack(items, aligned)):
            rows = items if aligned else [terms.make(Each, item) for item in items]
            found = [key for row in rows for key in alternatives(terms, row)]
        case _:
            return (term,)
    return tuple(dict.fromkeys(found))
