"""Which obligation of one audit is which of another, however the code around it was moved or renamed.

Obligations of one rule are paired in passes, from what is surely the same to what most likely is: the same line of the
same function, the same statement of it, the same statement elsewhere (a function was renamed or moved), the same
expression elsewhere (a function was extracted), the line that was edited in its place, and the same words about the
same function. Among equals those with the same verdict are paired first: a copy that came on top is what is new.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from jaxaudit.changes.alignment import Alignment
from jaxaudit.changes.forms import Place
from jaxaudit.reports.model import Finding, Report, Unknown, Verified
from jaxaudit.rules.base import Verdict


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """An obligation as a report has it."""

    rule: str
    family: str
    path: str
    line: int
    column: int
    verdict: Verdict
    reason: str = ""
    """Why it is proved or open; what is wrong where it is violated."""
    finding: Finding | None = None
    """What is shown of it, where something is: it is violated, or holds by luck."""


Pair = tuple[Judged, Judged]
_Key = Callable[[Judged], Hashable]
_Alike = Callable[[Judged, Judged], bool]


@dataclass(frozen=True, slots=True)
class Matching:
    """The obligations of two reports, side by side."""

    pairs: tuple[Pair, ...]
    """What is the same before and after."""
    gone: tuple[Judged, ...]
    """What has no counterpart any more: its code was removed, or has become another."""
    come: tuple[Judged, ...]
    """What had none before."""


def judged(report: Report) -> list[Judged]:
    """Return every obligation of a report, in the order of the files."""
    found: dict[tuple[str, str, int, int], Judged] = {}
    decided: list[tuple[Verdict, Sequence[Verified | Unknown]]] = [
        (Verdict.PROVED, report.verified),
        (Verdict.UNKNOWN, report.unknown),
    ]
    for verdict, entries in decided:
        for one in entries:
            at = (one.rule, one.path, one.line, one.column)
            found[at] = Judged(one.rule, one.family, one.path, one.line, one.column, verdict, one.reason)
    for one in (*report.issues, *report.warnings):
        at = (one.rule, one.path, one.line, one.column)
        known = found.get(at)
        verdict = known.verdict if known else Verdict.VIOLATED
        found[at] = Judged(one.rule, one.family, *at[1:], verdict, one.message, one)
    return sorted(found.values(), key=lambda one: (one.path, one.line, one.column, one.rule))


def match(before: Report, after: Report, sides: Alignment) -> Matching:
    """Pair the obligations of two reports."""
    return _Matcher(judged(before), judged(after), sides).run()


class _Matcher:
    def __init__(self, before: Sequence[Judged], after: Sequence[Judged], sides: Alignment) -> None:
        self.sides = sides
        self.before = list(before)
        self.after = list(after)
        self.pairs: list[Pair] = []

    def run(self) -> Matching:
        sides = self.sides
        self._pass(lambda one: (one.path, one.line, one.column) if sides.is_same(one.path) else None)
        self._pass(lambda one: self._aligned(one, same=True), self._line)
        self._pass(lambda one: (sides.path(one.path), self._old(one)), lambda one: (one.path, self._new(one)))
        # What moved is first looked for among those that are judged as it was.
        for alike in (_same_verdict, _any):
            self._pass(lambda one: self._old(one).whole, lambda one: self._new(one).whole, alike)
            self._pass(lambda one: self._old(one).expression, lambda one: self._new(one).expression, alike)
            self._pass(lambda one: self._aligned(one, same=False), self._line, alike)
        self._pass(
            lambda one: one.finding and (sides.path(one.path), self._old(one).function, one.reason),
            lambda one: one.finding and (one.path, self._new(one).function, one.reason),
        )
        pairs = sorted(self.pairs, key=lambda pair: (pair[1].path, pair[1].line, pair[1].column, pair[1].rule))
        return Matching(tuple(pairs), tuple(self.before), tuple(self.after))

    def _old(self, one: Judged) -> Place:
        return self.sides.before.place(one.path, one.line, one.column)

    def _new(self, one: Judged) -> Place:
        return self.sides.after.place(one.path, one.line, one.column)

    def _line(self, one: Judged) -> Hashable:
        return one.path, one.line, self._new(one).function

    def _aligned(self, one: Judged, *, same: bool) -> Hashable:
        """Return the line and function that one of the earlier state became, None where it is gone or was edited."""
        line = self.sides.line(one.path, one.line)
        kept = line is not None and (line.same or not same)
        return (self.sides.path(one.path), line.number, self._old(one).function) if line and kept else None

    def _pass(self, old: _Key, new: _Key | None = None, alike: _Alike | None = None) -> None:
        """Pair what has the same rule and key, the same verdicts first, and keep the rest for later passes."""
        wanted = (_same_verdict, _any) if alike is None else (alike,)
        groups: dict[Hashable, list[Judged]] = defaultdict(list)
        for one, key in _keyed(self.after, new or old):
            groups[key].append(one)
        waiting: dict[Hashable, list[Judged]] = defaultdict(list)
        for one, key in _keyed(self.before, old):
            if key in groups:
                waiting[key].append(one)
        found = [pair for key, group in waiting.items() for pair in _paired(group, groups[key], wanted)]
        self.pairs += found
        used = {id(one) for pair in found for one in pair}
        self.before = [one for one in self.before if id(one) not in used]
        self.after = [one for one in self.after if id(one) not in used]


def _keyed(items: Iterable[Judged], key: _Key) -> Iterator[tuple[Judged, Hashable]]:
    for one in items:
        found = key(one)
        if found is not None:
            yield one, (one.rule, found)


def _paired(old: Sequence[Judged], new: Sequence[Judged], wanted: Sequence[_Alike]) -> Iterator[Pair]:
    """Pair two groups in order: those that are alike in the first sense, then in the next."""
    left, rest = list(old), list(new)
    for alike in wanted:
        for one in list(left):
            other = next((other for other in rest if alike(one, other)), None)
            if other is not None:
                left.remove(one)
                rest.remove(other)
                yield one, other


def _any(one: Judged, other: Judged) -> bool:
    return one.rule == other.rule


def _same_verdict(one: Judged, other: Judged) -> bool:
    return one.verdict is other.verdict and (one.finding is None) == (other.finding is None)
