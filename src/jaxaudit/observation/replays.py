"""Turns what the numbers of a call showed into obligations of the rules that are about them: evidence, never proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.frontends.jaxpr.protocol import Frame, Replayed
from jaxaudit.ir.record import record, replace
from jaxaudit.rules.base import Obligation, Severity, Step, unknown
from jaxaudit.rules.numerics.integer_overflow import wraps_on_purpose
from jaxaudit.spans import Span

Shown = Callable[[str], str]


@record
class _Kind:
    """What is said of one kind of evidence."""

    rule: str
    current: str
    expected: str
    suggestion: str
    held: str = ""
    """What is said where it did not happen."""


_KEYS = "a key of its own for each draw"
_SPLIT = "split the key once more, or fold the position in"
_KINDS = {
    "index": _Kind(
        "out-of-bounds-index",
        "JAX raises nothing and reads another element, or fills in NaN, and results depend on it",
        "every index lies within its axis",
        "correct the index, or say what becomes of it: `x.at[i].get(mode=...)`",
        "no index was out of range",
    ),
    "update": _Kind(
        "out-of-bounds-index",
        "JAX raises nothing and drops the update, or moves it, and results depend on it",
        "every index lies within its axis",
        "correct the index, or say what becomes of it: `x.at[i].set(v, mode='drop')`",
        "no index was out of range",
    ),
    "choice": _Kind(
        "out-of-bounds-index",
        "JAX raises nothing and takes the branch at that end, and results depend on it",
        "branches are counted from 0",
        "subtract what the numbers start from, or clip them where the last branch is meant",
        "every branch that was asked for exists",
    ),
    "wrap": _Kind(
        "integer-overflow",
        "JAX raises nothing: what is beyond comes out at the other end, and results depend on it",
        "a dtype that holds every number",
        "compute in a wider dtype",
        "no integer wrapped around",
    ),
    "host": _Kind(
        "integer-overflow",
        "JAX takes 64 bits of NumPy's for 32 without a word: what is beyond comes out at the other end",
        "numbers that fit in 32 bits",
        "subtract an offset or divide in NumPy, or set `jax_enable_x64`",
    ),
    "nan": _Kind(
        "unsafe-domain",
        "results are NaN because of it",
        "finite numbers",
        "keep the argument away from where the function is not finite",
    ),
    "gradient": _Kind(
        "where-nan-gradient",
        "gradients are NaN because of it",
        "finite gradients",
        "replace the argument where the function has no derivative, before it is computed",
    ),
    "infinity": _Kind(
        "unsafe-domain",
        "results are infinite because of it; whether that is meant cannot be told",
        "finite numbers",
        "keep the argument away from where the function is not finite",
    ),
    "key": _Kind("key-reused", "both draws are made of the same random bits", _KEYS, _SPLIT),
    "turns": _Kind("same-key-in-loop", "these turns draw the same numbers", _KEYS, _SPLIT),
    "calls": _Kind(
        "same-key-in-loop",
        "what is computed goes on from call to call, and the random numbers are the same ones each time",
        _KEYS,
        "split the key before each call, or fold in a number that counts the calls",
    ),
    "elements": _Kind("same-key-across-vmap", "these elements draw the same numbers", _KEYS, _SPLIT),
}


def replay_obligations(replayed: Sequence[Replayed], shown: Shown, facts: Facts | None) -> Iterator[Obligation]:
    """Return what was seen of each place; where nothing is wrong, that it is open and did not happen."""
    for one in replayed:
        kind = _KINDS.get("gradient" if one.kind == "nan" and one.backward else one.kind)
        if kind is None or not one.places:
            continue
        span = _span(one.places[0], shown)
        if not one.text:
            found = unknown(span, f"{kind.held} in {one.calls}")
        elif one.kind == "wrap" and facts is not None and wraps_on_purpose(span, facts):
            found = unknown(span, f"{one.text} in {one.calls}, which a remainder or bitwise operation takes care of")
        else:
            found = _violated(one, kind, span, shown)
        yield replace(found, rule=kind.rule)


def _violated(one: Replayed, kind: _Kind, span: Span, shown: Shown) -> Obligation:
    drawn = "it is drawn with here" if one.kind == "calls" else "the first draw is here"
    other = () if one.other is None else (Step(_span(one.other, shown), drawn),)
    outer = ((_span(at, shown), at.function.rpartition("<locals>.")[2]) for at in one.places[1:4])
    around = (Step(place, f"`{name}` is running") for place, name in outer if name != "<module>")
    return Obligation(
        span,
        severity=Severity.WARNING if one.doubtful or one.kind == "infinity" else Severity.ERROR,
        message=f"{one.text}, seen in this run",
        current=f"in {one.calls}: {kind.current}",
        expected=kind.expected,
        steps=(*other, *(step for step in around if step.span not in (span, *(one.span for one in other)))),
        suggestion=kind.suggestion,
    )


def _span(place: Frame, shown: Shown) -> Span:
    return Span(shown(place.path), place.line, place.column, place.end_line, place.end_column)
