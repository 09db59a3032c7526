"""Compares what source says of each expression with what the expression gave when the program ran.

A place may be reached in several contexts, so an answer is contradicted only where nothing that source says of the
place can be true of it: what is unknown contradicts nothing. What is reported is thus always a defect of ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.agreement.blame import blamed
from benchmarks.agreement.calls import Calls
from benchmarks.agreement.said import Reader, Said
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.analyses.keys.overlap import Overlap, overlap, way
from jaxaudit.analyses.keys.terms import Row, Seed, Split, Term
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, canonical
from jaxaudit.analyses.solve import Solution, solve, solve_domain
from jaxaudit.analyses.tracing import TracingDomain
from jaxaudit.analyses.tracing.facts import Kind, Trace
from jaxaudit.ir import Program, Value
from jaxaudit.spans import Span

KINDS = ("structure", "function", "shape", "dtype", "traced", "value", "range", "key")
"""What is compared, the gravest first: where one differs, those after it are not looked at."""

Answer = Sequence[Any]
Chain = Sequence[tuple[str, int, str]]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two answers of which one is wrong."""

    span: Span
    kind: str
    source: str
    seen: str

    def __str__(self) -> str:
        return f"{self.span}: {self.kind}: source says {self.source}, it is {self.seen}"


@dataclass(slots=True)
class Verdict:
    """What the comparison of one program, or of many, gave."""

    programs: int = 0
    contradictions: list[Contradiction] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    """Facts that a run showed, by kind."""
    known: Counter[str] = field(default_factory=Counter)
    """Those among them that source knew."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why shapes are unknown, by what lost them."""
    unfollowed: Counter[str] = field(default_factory=Counter)
    """Answers that nothing source says fits, behind a call that source did not follow, by that call."""

    def add(self, other: Verdict) -> None:
        """Put the figures of another program to these."""
        self.programs += other.programs
        self.contradictions += other.contradictions
        for name in ("seen", "known", "reasons", "unfollowed"):
            getattr(self, name).update(getattr(other, name))

    @property
    def coverage(self) -> float:
        """The share of the observed shapes that source knew in full."""
        return self.known["shape"] / max(1, self.seen["shape"])

    def __str__(self) -> str:
        shares = (f"{kind} {self.known[kind]} of {self.seen[kind]}" for kind in KINDS if self.seen[kind])
        return (
            f"{self.programs} programs, {self.seen.total()} facts, {len(self.contradictions)} contradictions "
            f"(and {self.unfollowed.total()} behind calls that were not followed); "
            f"{100 * self.coverage:.1f}% of shapes known ({', '.join(shares)})"
        )


class Judge:
    """The facts of one reading."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.facts: Facts = solve(reader.program, {Shapes, Ranges, KeyFacts})
        self.shapes, self.ranges, self.keys = map(self.facts.get, (Shapes, Ranges, KeyFacts))
        self.tracing: Solution[Trace] = solve_domain(reader.program, TracingDomain(self.facts))
        self.open, self.calls = _open(reader.program), Calls(reader.program)
        self.shown: Mapping[str, str] = {}

    def program(self, seen: Mapping[str, Any], shown: Mapping[str, str]) -> Verdict:
        """Compare all that was seen of one run, in the files whose names are known."""
        found, self.shown = Verdict(1), shown
        for what in seen:
            chains = seen[what]["chains"]
            for path, name in shown.items():
                places = seen[what]["seen"].get(path, ())
                for *place, _, answers in places:
                    for answer, chain in answers:
                        self._answer(Span(name, *place), answer, chains[chain], found)
                self._same_keys(name, places, found)
        return found

    def _answer(self, span: Span, answer: Answer, chain: Chain, found: Verdict) -> None:
        before = len(found.contradictions)
        if answer[0] == "range":
            self._within(span, answer, found)
        elif answer[0] != "key":
            self._compare(span, answer, self.reader.places.get(span, ()), found)
        if len(found.contradictions) > before and (unfollowed := self.calls.unfollowed(chain, self.shown, span)):
            del found.contradictions[before:]
            found.unfollowed[unfollowed] += 1

    def _compare(self, span: Span, answer: Answer, said: Sequence[Said], found: Verdict) -> None:
        wrong = [self._wrong(answer, one) for one in said]
        if wrong and all(wrong):
            kind = max(filter(None, wrong), key=KINDS.index)
            text = " or ".join(dict.fromkeys(self._text(one) for one in said))
            found.contradictions.append(Contradiction(span, kind, text, _shown(answer)))
        agreeing = [one for one, bad in zip(said, wrong, strict=True) if not bad]
        self._count(answer, agreeing, found)

    def _count(self, answer: Answer, said: Sequence[Said], found: Verdict) -> None:
        """Count the facts of an answer, and those that source knew."""
        if answer[0] == "array":
            best = [(self._fact(one), one) for one in said]
            sized = any(_is_sized(fact, answer) for fact, _ in best)
            found.seen.update(("shape", "dtype"))
            found.known.update(shape=sized, dtype=any(fact.dtype for fact, _ in best))
            if answer[3] in ("traced", "jax"):
                found.seen["traced"] += 1
                found.known["traced"] += any(self._kind(one) is not Kind.UNKNOWN for one in said)
            if not sized:
                reasons = [blamed(one.value, self.facts, self.shapes) for one in said if one.value is not None]
                found.reasons[min(reasons, default="the source makes no value there")] += 1
        elif answer[0] == "value" and isinstance(answer[1], int):
            found.seen["value"] += 1
            found.known["value"] += any(one.kind == "const" or _number(self._fact(one)) is not None for one in said)
        elif answer[0] in ("tuple", "list", "dict", "record"):
            alike = [one for one in said if one.kind == answer[0]]
            found.seen["structure"] += 1
            found.known["structure"] += bool(alike) or any(self._fact(one).items is not None for one in said)
            for number, item in enumerate(answer[-1]) if alike else ():
                key, inner = item if answer[0] == "dict" else (number, item)
                parts = [part for one in alike for name, part in one.items if name in (key, str(key))]
                self._count(inner, parts, found)

    def _wrong(self, answer: Answer, said: Said) -> str:
        """Return what of an answer one context cannot be right about; empty where it can."""
        if said.kind == "any":
            return ""
        if said.kind == "leaf":
            return self._wrong_leaf(answer, self._fact(said)) or self._wrong_stage(answer, said)
        if said.kind == "const":
            return _wrong_constant(answer, said.const)
        if said.kind == "function" and answer[0] == "function":
            return self._wrong_function(answer, said)
        if said.kind in ("function", "object"):
            return "" if answer[0] in ("function", "object") else "structure"
        if answer[0] in ("object", "function"):
            # An iterator stands for the items it gives, and so does a class for the record it is derived from.
            return ""
        return self._wrong_items(answer, said)

    def _wrong_function(self, answer: Answer, said: Said) -> str:
        """Whether source means another function than the one that it is, both being of the files that it read."""
        path, line = self.shown.get(answer[1]), answer[2]
        return "function" if path and said.name and (path, line) != (said.name, said.const) else ""

    def _wrong_items(self, answer: Answer, said: Said) -> str:
        if answer[0] != said.kind or len(answer[-1]) != len(said.items):
            return "structure"
        if said.kind == "dict":
            entries = {str(name): part for name, part in said.items}
            if entries.keys() != {str(name) for name, _ in answer[-1]}:
                return "structure"
            pairs = [(item, entries[str(name)]) for name, item in answer[-1]]
        else:
            pairs = [(item, part) for item, (_, part) in zip(answer[-1], said.items, strict=True)]
        return min(
            (self._wrong(*pair) for pair in pairs), key=lambda kind: KINDS.index(kind) if kind else 99, default=""
        )

    def _wrong_leaf(self, answer: Answer, fact: ShapeFact) -> str:
        kind = answer[0]
        if kind == "array":
            return "structure" if fact.items is not None else _wrong_array(fact, tuple(answer[1]), answer[2])
        if kind == "value" and not isinstance(answer[1], str | None):
            number = _number(fact)
            if fact.dims is not None and fact.dims:
                return "shape"
            return "value" if number is not None and number != answer[1] else ""
        if kind == "object" and answer[1].endswith(("generator", "iterator")):
            # It stands for the items it gives.
            return ""
        if fact.dims is not None and fact.dtype is not None and not (kind == "value" and isinstance(answer[1], str)):
            return "structure"
        if kind in ("tuple", "list") and fact.items is not None:
            if len(fact.items) != len(answer[1]):
                return "structure"
            return next(filter(None, map(self._wrong_leaf, answer[1], fact.items)), "")
        return ""

    def _wrong_stage(self, answer: Answer, said: Said) -> str:
        if answer[0] != "array" or answer[3] == "other" or said.value is None:
            return ""
        fact = self.tracing.of(said.value)
        if answer[3] == "traced":
            wrong = fact.kind in (Kind.STATIC, Kind.CONCRETE) and said.value not in self.open
        else:
            # What is traced in later turns of a loop need not be so in the first.
            wrong = fact.kind is Kind.TRACED and not fact.again
        return "traced" if wrong else ""

    def _within(self, span: Span, answer: Answer, found: Verdict) -> None:
        """Whether the elements of an array lie in the range that source says they do."""
        _, low, high, _, _ = answer
        said = [one for one in self.reader.places.get(span, ()) if one.kind != "const"]
        if low is None or not said:
            return
        ranges = [self.ranges.of(one.value) for one in said if one.value is not None]
        found.seen["range"] += 1
        found.known["range"] += any(one.is_bounded for one in ranges)
        slack = 1e-3 * max(1.0, abs(low), abs(high))
        if len(ranges) == len(said) and not any(one.low - slack <= low and high <= one.high + slack for one in ranges):
            text = " or ".join(dict.fromkeys(f"[{one.low:g}, {one.high:g}]" for one in ranges))
            found.contradictions.append(Contradiction(span, "range", text, f"[{low:g}, {high:g}]"))

    def _same_keys(self, shown: str, eager: Sequence[Any], found: Verdict) -> None:
        """Whether keys at two places that are reached once are the same key exactly where source says so."""
        keys: list[tuple[Span, Term, str]] = []
        for *place, once, answers in eager:
            said = self.reader.places.get(span := Span(shown, *place), ())
            answer = answers[0][0] if once and len(answers) == 1 else ("",)
            if answer[0] == "key" and len(said) == 1 and said[0].value is not None:
                keys.append((span, self.keys.term(said[0].value), answer[1]))
                found.seen["key"] += 1
                found.known["key"] += isinstance(keys[-1][1], Row | Seed | Split)
        for number, (span, term, content) in enumerate(keys):
            for other, earlier, before in keys[:number]:
                same, apart = term is earlier, _are_apart(term, earlier)
                if (same and content != before) or (apart and content == before):
                    text = f"{'the same key as' if same else 'another key than'} at line {other.line}"
                    found.contradictions.append(Contradiction(span, "key", text, "not so"))

    def _fact(self, said: Said) -> ShapeFact:
        return NOTHING if said.value is None else self.shapes.of(said.value)

    def _kind(self, said: Said) -> Kind:
        return Kind.UNKNOWN if said.value is None else self.tracing.of(said.value).kind

    def _text(self, said: Said) -> str:
        if said.kind == "leaf":
            return f"{self._fact(said)} ({self._kind(said).value})"
        inside = ", ".join(self._text(one) for _, one in said.items)
        if said.kind == "function":
            return f"function {said.name}:{said.const}"
        return f"{said.const!r}" if said.kind == "const" else f"{said.kind} {said.name}({inside})"


def _open(program: Program) -> set[Value]:
    """Return the values of functions that nobody calls: what those are given is at hand by assumption."""
    values: dict[bool, set[Value]] = {True: set(), False: set()}
    for root in program.roots:
        found = values[root.runs]
        found.update(root.region.params)
        for op in root.region.walk():
            found.update(op.results, *(region.params for region in op.regions))
    return values[False] - values[True]


def _are_apart(first: Term, second: Term) -> bool:
    """Whether two terms are different rows of one split."""
    return way(first)[0] is way(second)[0] and overlap(first, second) is Overlap.DISJOINT


def _number(fact: ShapeFact) -> int | None:
    return None if fact.number is None else fact.number.constant


def _is_sized(fact: ShapeFact, answer: Answer) -> bool:
    return fact.dims is not None and [dim.constant for dim in fact.dims] == list(answer[1])


def _wrong_array(fact: ShapeFact, shape: tuple[int, ...], dtype: str) -> str:
    if fact.dims is not None:
        if len(fact.dims) != len(shape):
            return "shape"
        if any(dim.constant not in (None, size) for dim, size in zip(fact.dims, shape, strict=True)):
            return "shape"
    return "" if fact.dtype is None or canonical(fact.dtype) == canonical(dtype) else "dtype"


def _wrong_constant(answer: Answer, const: object) -> str:
    if not (const is None or isinstance(const, bool | int | float | str)):
        return ""
    if answer[0] != "value":
        return "structure"
    seen = answer[1]
    if isinstance(const, float):
        return "" if seen == repr(float(const)) else "value"
    if isinstance(const, str):
        return "" if seen == const[:40] else "value"
    return "" if seen == const and (seen is None) == (const is None) else "value"


def _shown(answer: Answer) -> str:
    if answer[0] == "array":
        return f"{answer[2]}[{', '.join(map(str, answer[1]))}] ({answer[3]})"
    if answer[0] == "value":
        return repr(answer[1])
    if answer[0] == "function":
        return f"function {answer[1]}:{answer[2]}"
    inside = answer[-1] if isinstance(answer[-1], list) else []
    parts = (f"{one[0]}: {_shown(one[1])}" if answer[0] == "dict" else _shown(one) for one in inside)
    return f"{' '.join(str(one) for one in answer if isinstance(one, str))}({', '.join(parts)})"
