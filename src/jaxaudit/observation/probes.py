"""Turns what probes of derivative rules showed into obligations: evidence, never proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from jaxaudit.frontends.jaxpr.protocol import Frame, Probe
from jaxaudit.rules.base import Obligation, Severity, Step, proved, unknown
from jaxaudit.spans import Span

Shown = Callable[[str], str]


def probe_obligations(probes: Sequence[Probe], shown: Shown) -> Iterator[Obligation]:
    """Return one obligation for each argument of each rule that was probed."""
    for one in probes:
        if one.place is not None:
            yield replace(
                _OBLIGATIONS[one.verdict](one, _span(one.place, shown), shown), rule="wrong-custom-derivative"
            )


def _span(place: Frame, shown: Shown) -> Span:
    return Span(shown(place.path), place.line, place.column, place.end_line, place.end_column)


def _subject(one: Probe) -> str:
    of = f" by `{one.argument}`" if one.argument else ""
    return f"the derivative of `{one.function}`{of}"


def _agrees(one: Probe, span: Span, shown: Shown) -> Obligation:
    return proved(span, f"verified by probe, {one.inputs} inputs: {_subject(one)}: {one.text}")


def _differs(one: Probe, span: Span, shown: Shown) -> Obligation:
    where = f"on {one.inputs} random inputs" if one.inputs else "on a random input"
    return Obligation(
        span,
        message=f"{_subject(one)} {one.text}",
        current=f"the `{one.kind}` rule was run {where} and compared with the function itself",
        expected="the rule gives the derivative of the function, linear in the incoming derivative",
        steps=_steps(one, shown),
        suggestion="correct the rule; if it differs on purpose, say so with `# jaxaudit: ignore`",
    )


def _doubtful(one: Probe, span: Span, shown: Shown) -> Obligation:
    return Obligation(
        span,
        severity=Severity.WARNING,
        message=f"{_subject(one)} {one.text}",
        current=f"a probe with {one.inputs} inputs shows it, but not whether it is meant",
        steps=_steps(one, shown),
    )


def _open(one: Probe, span: Span, shown: Shown) -> Obligation:
    # What source shows of the returned expression is less than what is left open: it stands at the function.
    place = _span(one.made, shown) if one.made is not None else span
    return unknown(place, f"{_subject(one)} was not probed to an end: {one.text}")


def _steps(one: Probe, shown: Shown) -> tuple[Step, ...]:
    return (Step(_span(one.made, shown), f"`{one.function}` is defined here"),) if one.made is not None else ()


_OBLIGATIONS: dict[str, Callable[[Probe, Span, Shown], Obligation]] = {
    "agrees": _agrees,
    "estimator": _agrees,
    "differs": _differs,
    "doubtful": _doubtful,
    "open": _open,
}
