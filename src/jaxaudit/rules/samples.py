"""What rules say of functions entered with observed arguments joins what they say of the same code for any arguments.

A run is a sample. What it violates is violated, what it proves is proved for the calls that were seen and says so, and
nothing that holds or fails for all arguments is changed by it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from jaxaudit.ir import Program, Root
from jaxaudit.ir.basis import Basis
from jaxaudit.ir.record import replace
from jaxaudit.rules.base import Obligation, Raises, Severity, Step, Verdict
from jaxaudit.rules.merge import is_worse, merge
from jaxaudit.spans import Span

_Lines = Mapping[tuple[str, int], Sequence[Root]]
_LONGEST = 140
"""How much of the arguments a step tells."""


def beside(anyhow: Iterable[Obligation], seen: Iterable[Obligation], program: Program) -> Iterator[Obligation]:
    """Join the obligations of a program for any arguments with those for the arguments that were observed."""
    roots = _roots(program)
    by_place = {(one.rule, one.span): one for one in merge(_believed(seen, roots))}
    for one in merge(anyhow):
        other = by_place.pop((one.rule, one.span), None)
        yield one if other is None else _joined(one, other, roots)
    yield from (_seen(one, roots) for one in by_place.values())


def _roots(program: Program) -> _Lines:
    """Return the roots that come through each line."""
    found: dict[tuple[str, int], list[Root]] = defaultdict(list)
    for root in program.roots:
        for place in dict.fromkeys((op.span.path, op.span.line) for op in root.region.walk()):
            found[place].append(root)
    return found


def _believed(seen: Iterable[Obligation], roots: _Lines) -> Iterator[Obligation]:
    """Leave out what JAX would refuse in code that has run with these very arguments and has not changed since."""
    for one in seen:
        refused = one.verdict is Verdict.VIOLATED and one.raises is Raises.TRACING
        if not refused or any(_is_changed(root) for root in _at(one.span, roots)):
            yield one


def _is_changed(root: Root) -> bool:
    return root.observation is not None and root.observation.changed


def _at(span: Span, roots: _Lines) -> Sequence[Root]:
    return roots.get((span.path, span.line), ())


def _joined(one: Obligation, other: Obligation, roots: _Lines) -> Obligation:
    if other.verdict is Verdict.VIOLATED and is_worse(other, one):
        return _seen(other, roots)
    if one.verdict is Verdict.UNKNOWN and other.verdict is Verdict.PROVED:
        return _seen(other, roots)
    return one


def _seen(one: Obligation, roots: _Lines) -> Obligation:
    """Return an obligation that says on what observation it rests."""
    through = _at(one.span, roots)
    if one.verdict is Verdict.PROVED:
        count = max(len(through), 1)
        sample = f"for the {count} shapes seen" if count > 1 else "for the shapes seen"
        return replace(one, reason=f"{sample}: {one.reason}", basis=Basis.OBSERVED)
    if one.verdict is Verdict.UNKNOWN or not through:
        return replace(one, basis=min(one.basis, Basis.OBSERVED))
    name, seen = through[0].region.label, through[0].observation
    assert seen is not None
    given = seen.arguments if len(seen.arguments) <= _LONGEST else f"{seen.arguments[: _LONGEST - 3]}..."
    text = f"`{name}` is {seen.text}" + (f", with {given}" if given else "")
    return replace(one, steps=(Step(through[0].region.span, text), *one.steps), basis=min(one.basis, Basis.OBSERVED))


def witnessed(obligations: Iterable[Obligation], numbers: Iterable[Obligation]) -> Iterator[Obligation]:
    """Join what rules say of the code with what the numbers of a call showed on the same lines.

    A mistake that is told already is told once, as something that was seen. That nothing went wrong is evidence beside
    what is open, and says nothing of its own. Where keys may be shared on purpose, equal bits are a warning.
    """
    seen: dict[tuple[str, str, int], list[Obligation]] = defaultdict(list)
    for one in merge(numbers):
        seen[one.rule, one.span.path, one.span.line].append(one)
    told: set[int] = set()
    meant: set[int] = set()
    for one in obligations:
        places = [one.span, *(step.span for step in one.steps)] if one.verdict is Verdict.VIOLATED else [one.span]
        near = [other for place in places for other in seen.get((one.rule, place.path, place.line), ())]
        wrong = [other for other in near if other.verdict is Verdict.VIOLATED]
        if wrong and one.verdict is Verdict.VIOLATED:
            told.update(map(id, wrong))
            yield _happened(one, next((other for other in wrong if other.span == one.span), wrong[0]))
        elif near and not wrong and one.verdict is Verdict.UNKNOWN:
            yield replace(one, reason=f"{one.reason}; {near[0].reason}")
        else:
            meant.update(map(id, wrong if one.verdict is Verdict.UNKNOWN and one.subject.uses else ()))
            yield one
    for one in (one for found in seen.values() for one in found if one.verdict is Verdict.VIOLATED):
        if id(one) not in told:
            yield replace(one, severity=Severity.WARNING) if id(one) in meant else one


def _happened(one: Obligation, seen: Obligation) -> Obligation:
    """Return a finding that was seen to come true; it is an error where the numbers make it one."""
    if is_worse(seen, one) and not one.subject.uses and one.span[:2] == seen.span[:2]:
        return seen
    return replace(one, current=f"{one.current}; {seen.message}")
