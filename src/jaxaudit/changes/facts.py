"""What is computed otherwise than before: two programs in terms, side by side from what they give away.

Where both compute the same function of others, these are compared; where they part, what is known of both sides is:
which of them is made of the other, what they depend on, which function and which options they have. What is merely
written otherwise has the same of all that, and nothing is said of it. Which numbers are written down is no fact.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from jaxaudit.changes.alignment import Alignment
from jaxaudit.changes.computed import Reading, roots
from jaxaudit.changes.terms import CARRY, CONSTANT, ELEMENT, INPUT, PART, TURNS, Term, Terms
from jaxaudit.changes.wording import Names, index, mapped
from jaxaudit.ir import Program
from jaxaudit.ir.functions import ORDERLESS, SIZES
from jaxaudit.ir.types import Root
from jaxaudit.reports.change import BoundaryChange
from jaxaudit.spans import Span

_TAKEN = frozenset({INPUT, PART, "attr", CARRY})
"""Terms that stand for one of several things that are there."""
_PLAIN = _TAKEN | SIZES | {CONSTANT, ELEMENT, "py.item", "py.container"}
"""Terms that compute nothing."""

Computed = tuple[tuple[BoundaryChange, ...], bool]


def changed_facts(before: Program, after: Program, sides: Alignment) -> Computed:
    """Return what is computed otherwise than before, and whether all is surely computed as it was.

    It is told at the lines that were changed, where there is one on the way.
    """
    old = {(sides.path(path), name, at): root for (path, name, at), root in roots(before).items()}
    new = roots(after)
    same = bool(new) and old.keys() == new.keys()
    found: dict[tuple[object, ...], list[BoundaryChange]] = defaultdict(list)
    for key in old.keys() & new.keys():
        compared = _Comparison(old[key], new[key], sides)
        same &= compared.is_same
        for one in compared.run():
            found[one.path, one.line, one.kind].append(one)
    touched = {key: some for key, some in found.items() if sides.is_changed(some[0].path, some[0].line)}
    # What lies behind a line that was changed follows from it.
    told = (_all(some) for some in (touched or found).values())
    return tuple(sorted(told, key=lambda one: (one.path, one.line, one.kind))), same


def _all(some: Sequence[BoundaryChange]) -> BoundaryChange:
    """Tell the first of several changes of one kind on one line, and how many there are."""
    one, more = some[0], len({one.text for one in some}) - 1
    if not more:
        return one
    text = f"{one.text}; {more} more like it"
    return BoundaryChange(one.kind, one.path, one.line, one.function, one.before, one.now, text)


class _Way(NamedTuple):
    """How a term was come to: what it is an input of, and so on up to what is given away."""

    number: int
    span: Span
    around: _Way | None = None


_Pair = tuple[int, int, _Way]


class _Comparison:
    """One root, as it was and as it is."""

    def __init__(self, old: Root, new: Root, sides: Alignment) -> None:
        self.sides = sides
        self.function = new.region.label
        self.terms = Terms()
        self.old, self.new = Reading(self.terms), Reading(self.terms)
        self.was = self.old.root(old, {})
        self.now = self.new.root(new, _renamed(old, new))
        self.past, self.present = (Names(self.terms, one.names) for one in (self.old, self.new))
        self.seen: set[tuple[int, int]] = set()
        self.found: list[BoundaryChange] = []

    @property
    def is_same(self) -> bool:
        """Whether both give the same away."""
        return self.was.numbers == self.now.numbers

    def run(self) -> list[BoundaryChange]:
        """Compare all that is returned and stored."""
        for (_, left), (span, right) in zip(self.was.returned, self.now.returned, strict=False):
            if left != right:
                self._compare(self._several(left, right, _Way(-1, span)))
        for name in self.was.stored.keys() & self.now.stored.keys():
            for (_, one), (span, other) in zip(self.was.stored[name], self.now.stored[name], strict=False):
                self._compare([(one, other, _Way(-1, span))])
        return self.found

    def _compare(self, pairs: Iterable[_Pair]) -> None:
        waiting = list(pairs)
        while waiting:
            old, new, way = waiting.pop()
            if old != new and (old, new) not in self.seen:
                self.seen.add((old, new))
                waiting += self._step(old, new, way)

    def _step(self, old: int, new: int, way: _Way) -> Iterator[_Pair]:
        """Compare two terms, and return those of their inputs that differ."""
        was, now = self.terms.all[old], self.terms.all[new]
        if was.label == now.label == CONSTANT:
            return
        if was.label != now.label or (was.label in _TAKEN and was.options != now.options):
            yield from self._parted(old, new, way)
            return
        here = _Way(new, self._place(new, way.span), way)
        told = self._options(was, now, here)
        if was.options and was.options[0][0] == TURNS:
            yield from ((one, other, here) for one, other in self._turns(was, now))
            return
        left, right = list(was.inputs), list(now.inputs)
        if was.label in ORDERLESS:
            both = Counter(left) & Counter(right)
            left, right = (list((Counter(some) - both).elements()) for some in (left, right))
        if len(left) == len(right) and Counter(left) != Counter(right):
            yield from ((one, other, here) for one, other in zip(left, right, strict=True))
        elif left != right and not told:
            yield from self._several(left, right, here)

    def _several(self, left: Sequence[int], right: Sequence[int], way: _Way) -> Iterator[_Pair]:
        """Compare some values that are returned or taken together, in order."""
        about = self._about(way)
        lost, gained = ([one for one in some if one not in others] for some, others in ((left, right), (right, left)))
        if not lost and not gained and len(left) == len(right):
            moved = [other for one, other in zip(left, right, strict=True) if one != other]
            where = self.present.maker(way.number) if way.number >= 0 else about
            self._tell("order", way, f"{self.present.all(moved)} change places in {where}")
        yield from ((one, other, way) for one, other in zip(lost, gained, strict=False))
        for one in lost[len(gained) :]:
            if self._counts(one, left):
                self._tell("operand", way, f"{about} has {self.past.of(one)} no more", one)
        for one in gained[len(lost) :]:
            if self._counts(one, right):
                self._tell("operand", way, f"{about} has {self.present.of(one)} now, and had not")

    def _counts(self, number: int, beside: Sequence[int]) -> bool:
        """Whether something that is returned was computed, or is an earlier version of something beside it.

        A function that is returned has for parts what it reads from around it.
        """
        is_input = self.terms.leaves(number) == {number}
        return not is_input or any(self.terms.within(number, other) for other in beside)

    def _options(self, was: Term, now: Term, here: _Way) -> bool:
        old, new = dict(was.options), dict(now.options)
        names = [name for name in dict.fromkeys((*new, *old)) if old.get(name) != new.get(name) and name != TURNS]
        for name in names:
            one, other = old.get(name, "not given"), new.get(name, "not given")
            match now.label, name:
                case "py.item", "index":
                    of = self.present.of(now.inputs[0])
                    text = f"the index of {of} is `{index(other)}` now, and was `{index(one)}`"
                case "element", "in_axes":
                    of = self.present.of(here.number)
                    text = f"{of} is {mapped(new.get(name))} now, and was {mapped(old.get(name))}"
                case label, _:
                    text = f"`{name}` of {self.present.function(label)} is {other} now, and was {one}"
            self._tell("option", here, text)
        return bool(names)

    def _turns(self, was: Term, now: Term) -> Iterator[tuple[int, int]]:
        """Pair what two loops give, and what both carry: by its place, or by what it starts with."""
        own = int(was.options[0][1])
        yield from zip(was.inputs[:own], now.inputs[:own], strict=False)
        old, new = (
            {
                self.terms.all[one].options or one: (one, after)
                for one, after in zip(turns[::2], turns[1::2], strict=True)
            }
            for turns in (was.inputs[own:], now.inputs[own:])
        )
        for key in old.keys() & new.keys():
            yield from zip(old[key], new[key], strict=True)

    def _parted(self, old: int, new: int, way: _Way) -> Iterator[_Pair]:
        """Tell what is known of two sides that are computed in different ways; where that is the same, go on inside."""
        was, now = self.terms.all[old], self.terms.all[new]
        about, here = self._about(way), _Way(new, self._place(new, way.span), way)
        one, other = self.past.of(old), self.present.of(new)
        if was.label in _TAKEN and now.label in _TAKEN:
            one, other = (one, other) if one != other else (self.past.part(old), self.present.part(new))
            told = f"takes {other} now, and took {one}" if one != other else f"takes another {other} than before"
            self._tell("operand", way, f"{about} {told}", old, new)
        elif self.terms.within(new, old):
            made = self.past.maker(old)
            told = f"{other} now, and took what {made} makes of it"
            earlier = f"the {other} from before {made} now, and took the one after it"
            self._tell("version", way, f"{about} takes {earlier if other in (about, one) else told}", old, new)
        elif self.terms.within(old, new):
            made = self.present.maker(new)
            self._tell("version", here, f"{about} takes what {made} makes of {one} now, and took it as it is")
        elif sorted(was.inputs) == sorted(now.inputs) and was.inputs and "py.item" not in (was.label, now.label):
            came, comes = self.past.maker(old), self.present.maker(new)
            self._tell("function", here, f"{about} comes from {comes} now, and came from {came}")
        elif not self._depends(old, new, here):
            inside = [self.terms.inside(one) for one in (old, new)]
            left, right = (self._single(some - other) for some, other in (inside, reversed(inside)))
            yield from ((left[label], right[label], here) for label in left.keys() & right.keys())

    def _single(self, numbers: Iterable[int]) -> dict[str, int]:
        """Return the term of each function that stands once among some."""
        found: dict[str, list[int]] = defaultdict(list)
        for one in numbers:
            found[self.terms.all[one].label].append(one)
        return {label: some[0] for label, some in found.items() if len(some) == 1 and label not in _PLAIN}

    def _depends(self, old: int, new: int, way: _Way) -> bool:
        """Tell what one side depends on and the other does not, and whether there is such."""
        left, right = (
            {one for one in self.terms.leaves(number) if self.terms.all[one].label != CARRY} for number in (old, new)
        )
        lost, gained = self._but(left, right), self._but(right, left)
        if lost:
            self._tell("dependence", way, f"{self._about(way)} does not depend on {self.past.all(lost)} any more", old)
        elif gained:
            self._tell("dependence", way, f"{self._about(way)} depends on {self.present.all(gained)} now, and did not")
        return bool(lost or gained)

    def _but(self, some: set[int], others: set[int]) -> list[int]:
        """Return the leaves that are not among others, nor a part of one of them, nor have one for part."""
        within = self.terms.within
        return [one for one in some - others if not any(within(one, two) or within(two, one) for two in others)]

    # where it is, and what it is called

    def _tell(self, kind: str, way: _Way, text: str, old: int = -1, new: int = -1) -> None:
        path, line = self._line(way, old, new)
        self.found.append(BoundaryChange(kind, path, line, self.function, "", "", text))

    def _line(self, way: _Way, old: int, new: int) -> tuple[str, int]:
        """Return the innermost line on the way that the change touches; else where it is returned or replaces one."""
        ways: list[Span] = []
        one: _Way | None = way
        while one is not None:
            ways.append(one.span)
            one = one.around
        for span in (*ways, *self.new.given.get(new, ())):
            if touched := self._touched(span):
                return span.path, touched
        for span in self.old.places.get(old, ()):
            line = self.sides.line(span.path, span.line)
            if line is not None and not line.same:
                return self.sides.path(span.path), line.number
        return way.span.path, way.span.line

    def _touched(self, span: Span) -> int | None:
        lines = range(span.line, span.end_line + 1)
        return next((line for line in lines if self.sides.is_changed(span.path, line)), None)

    def _place(self, number: int, otherwise: Span) -> Span:
        spans = self.new.places.get(number) or [otherwise]
        return next((one for one in spans if self._touched(one)), spans[0])

    def _about(self, way: _Way) -> str:
        """Name what is computed: by the nearest thing around that has a name."""
        one: _Way | None = way
        while one is not None and one.number >= 0:
            if one.number in self.new.names:
                return f"`{self.new.names[one.number]}`"
            one = one.around
        return f"what `{self.function}` gives"


def _renamed(old: Root, new: Root) -> dict[str, str]:
    """Return the earlier names of parameters that go by another now: those at their places."""
    was, now = ([one.name for one in root.region.params] for root in (old, new))
    gone, come = [one for one in was if one not in now], [one for one in now if one not in was]
    return dict(zip(come, gone, strict=True)) if len(gone) == len(come) else {}
