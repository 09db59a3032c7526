"""One obligation a place: a function that is followed from several calls gives the same place several verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxaudit.rules.base import Obligation, Severity, Verdict
from jaxaudit.spans import Span


def strongest(obligations: Iterable[Obligation]) -> Iterator[Obligation]:
    """Keep the gravest verdict at each place: an error, then a warning, then unknown, then proved."""
    kept: dict[Span, Obligation] = {}
    for obligation in obligations:
        known = kept.get(obligation.span)
        if known is None or _rank(obligation) > _rank(known):
            kept[obligation.span] = obligation
    yield from sorted(kept.values(), key=lambda one: one.span)


def _rank(obligation: Obligation) -> int:
    if obligation.verdict is Verdict.VIOLATED:
        return 2 if obligation.severity is Severity.WARNING else 3
    return 1 if obligation.verdict is Verdict.UNKNOWN else 0
