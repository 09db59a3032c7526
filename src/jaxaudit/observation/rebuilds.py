"""Turns what rebuilding objects of registered classes showed into obligations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from jaxaudit.frontends.jaxpr.protocol import Frame, Rebuilt
from jaxaudit.rules.base import Obligation, Severity, Step, proved, unknown
from jaxaudit.spans import Span

RULE = "flatten-loses-field"


def rebuild_obligations(rebuilt: Sequence[Rebuilt], shown: Callable[[str], str]) -> Iterator[Obligation]:
    """Return one obligation for each attribute that came back otherwise, or one for a class without any."""
    for one in rebuilt:
        if one.place is None:
            continue
        span, objects = _span(one.place, shown), "1 object" if one.objects == 1 else f"{one.objects} objects"
        if one.verdict == "open":
            about = (
                f"`{one.attribute}` of `{one.cls}`" if one.attribute else f"whether `{one.cls}` comes back as it was:"
            )
            # What source proves of the parts that are handed on stands at these.
            whole = _span(one.other or one.place, shown)
            made = unknown(whole, f"{about} {one.text}")
        elif not one.attribute:
            made = proved(span, f"verified by probe, {objects}: `{one.cls}` is put together again as it was")
        else:
            made = _differs(one, span, objects, shown)
        made.rule = RULE
        yield made


def _differs(one: Rebuilt, span: Span, objects: str, shown: Callable[[str], str]) -> Obligation:
    steps = (Step(_span(one.other, shown), "it is put together again here"),) if one.other is not None else ()
    return Obligation(
        span,
        severity=Severity.ERROR if one.verdict == "differs" else Severity.WARNING,
        message=f"`{one.attribute}` of `{one.cls}` {one.text} when an object is taken apart and put together again",
        current=f"every transformation rebuilds its arguments so; {objects} of this run were",
        expected="each attribute comes back as it was",
        steps=tuple(step for step in steps if step.span != span),
        suggestion="hand on children and auxiliary data in the order in which they are taken up, and all of them",
    )


def _span(place: Frame, shown: Callable[[str], str]) -> Span:
    return Span(shown(place.path), place.line, place.column, place.end_line, place.end_column)
