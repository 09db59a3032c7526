"""One obligation a place, from all that rules say about it.

One place in the code is often reached in several contexts. There it is violated when any context violates it, unknown
when any context leaves it open, and proved only when all of them prove it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

from jaxaudit.ir import Value
from jaxaudit.ir.basis import Basis
from jaxaudit.ir.record import replace
from jaxaudit.rules.base import Obligation, Severity, Step, Verdict
from jaxaudit.rules.registry import all_rules
from jaxaudit.spans import Span

_VERDICTS = (Verdict.PROVED, Verdict.UNKNOWN, Verdict.VIOLATED)
_SEVERITIES = (Severity.WARNING, Severity.PERFORMANCE, Severity.ERROR)
_Mark = Span | Value | tuple[str, Span]


def merge(obligations: Iterable[Obligation]) -> list[Obligation]:
    """Keep one obligation for each rule and place, the worst of all contexts, in the order of the files."""
    worst: dict[tuple[str, Span, str], Obligation] = {}
    for one in obligations:
        key = (one.rule, one.span, one.front_end)
        known = worst.get(key)
        worst[key] = one if known is None else _worse(known, one)
    return sorted(worst.values(), key=lambda one: (one.span, one.rule))


def credible(obligations: Sequence[Obligation]) -> list[Obligation]:
    """Leave open what rests on a belief about a definition that every use of it contradicts.

    Where several parts of a program use one thing, all in a way that cannot work, it is more likely not what it was
    taken for.
    """
    uses: dict[tuple[str, str, Span | None], list[Obligation]] = defaultdict(list)
    for one in obligations:
        if one.belief is not None and one.verdict is not Verdict.UNKNOWN:
            uses[one.rule, one.belief.about, one.belief.definition].append(one)
    doubted = {id(one) for group in uses.values() if _all_contradict(group) for one in group}
    return [_doubted(one) if id(one) in doubted else one for one in obligations]


def _all_contradict(uses: Sequence[Obligation]) -> bool:
    seen = any(one.verdict is Verdict.PROVED or one.basis is Basis.OBSERVED for one in uses)
    return not seen and len({one.belief.user for one in uses if one.belief is not None}) > 1


def _doubted(one: Obligation) -> Obligation:
    about = "" if one.belief is None else one.belief.about
    reason = f"no use of `{about}` in sight fits what is known of it, so it may be something else"
    return Obligation(one.span, Verdict.UNKNOWN, reason, raises=one.raises, rule=one.rule, front_end=one.front_end)


def distinct(obligations: Sequence[Obligation]) -> list[Obligation]:
    """Keep one finding for each mistake: the worst and first, with what others say of it among its steps.

    Two findings are of one mistake where they are at one place, name a value that is handled wrongly in both, or the
    same definition that is at fault.
    """
    found: dict[tuple[bool, _Mark], Obligation] = {}
    also: dict[int, list[Obligation]] = {}
    for one in sorted((one for one in obligations if one.speaks), key=_rank):
        # What only costs time is another matter than what is wrong.
        costs = one.severity is Severity.PERFORMANCE
        at_fault = () if one.definition is None else ((one.rule, one.definition),)
        marks: list[tuple[bool, _Mark]] = [(costs, place) for place in (one.span, *one.cause, *at_fault)]
        known = next((found[mark] for mark in marks if mark in found), None)
        if known is None:
            found.update(dict.fromkeys(marks, one))
        elif known.rule != one.rule or (one.definition is not None and one.definition == known.definition):
            also.setdefault(id(known), []).append(one)
    same = {id(one) for others in also.values() for one in others}
    return [_with_steps(one, also.get(id(one), ())) for one in obligations if id(one) not in same]


@cache
def _general() -> frozenset[str]:
    return frozenset(rule.name for rule in all_rules() if rule.general)


def _rank(one: Obligation) -> tuple[int, Span, bool, int, str]:
    return -_SEVERITIES.index(one.severity), one.span, one.rule in _general(), -len(one.steps), one.rule


def _with_steps(one: Obligation, others: Sequence[Obligation]) -> Obligation:
    told = {one.span[:2], *(step.span[:2] for step in one.steps)}
    further: list[Step] = []
    for other in others:
        further += [Step(other.span, other.message), *(step for step in other.steps if step.span[:2] not in told)]
    return replace(one, steps=tuple(dict.fromkeys((*one.steps, *further)))) if others else one


def combine(merged: Sequence[Obligation]) -> list[Obligation]:
    """Join what several front ends say about one place: violated wins, then proved, then unknown.

    Within a front end an open context keeps a place open; between them, the one that could tell is believed.
    """
    if len({one.front_end for one in merged}) < 2:
        return list(merged)
    places: dict[tuple[str, str, int], list[Obligation]] = defaultdict(list)
    for one in merged:
        places[one.rule, one.span.path, one.span.line].append(one)
    joined = [one for group in places.values() for one in _joined(group)]
    return sorted(joined, key=lambda one: (one.span, one.rule))


def _joined(group: Sequence[Obligation]) -> Sequence[Obligation]:
    """Join the obligations of one rule on one line; front ends do not always agree on columns."""
    by_span: dict[Span, Obligation] = {}
    for one in group:
        known = by_span.get(one.span)
        by_span[one.span] = one if known is None or _sureness(one) > _sureness(known) else known
    if len({one.front_end for one in group}) < 2:
        return list(by_span.values())
    violated = [one for one in group if one.verdict is Verdict.VIOLATED]
    if violated:
        best = max(violated, key=lambda one: (_badness(one), _DETAIL.get(one.front_end, 0)))
        same = [one for one in by_span.values() if one.front_end == best.front_end and one.verdict is Verdict.VIOLATED]
        return same or [best]
    return (
        [max(group, key=_sureness)] if len(by_span) == len({one.front_end for one in group}) else list(by_span.values())
    )


def _sureness(one: Obligation) -> tuple[int, int]:
    order = (Verdict.UNKNOWN, Verdict.PROVED, Verdict.VIOLATED)
    return order.index(one.verdict), _DETAIL.get(one.front_end, 0)


_DETAIL = {"source": 1, "jaxpr": 2, "run": 3}
"""Whose words to prefer between equal verdicts: what happened says more than what must happen."""


def _worse(one: Obligation, other: Obligation) -> Obligation:
    worse, better = (other, one) if _badness(other) > _badness(one) else (one, other)
    if better.speaks and not worse.speaks:
        return replace(better, verdict=worse.verdict, reason=worse.reason)
    return worse


def is_worse(one: Obligation, other: Obligation) -> bool:
    """Whether one obligation of a place outweighs another."""
    return _badness(one) > _badness(other)


def _badness(one: Obligation) -> tuple[int, int]:
    return _VERDICTS.index(one.verdict), _SEVERITIES.index(one.severity) if one.speaks else -1
