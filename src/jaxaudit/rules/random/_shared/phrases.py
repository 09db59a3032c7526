"""The wording that the rules about keys share."""

from __future__ import annotations

from jaxaudit.analyses.explain import Told, doer, explain_term, into_callees, name_of
from jaxaudit.analyses.keys import KeyFacts, Use
from jaxaudit.rules.base import Step
from jaxaudit.spans import Span

__all__ = ["doer", "key_name", "line_of", "short", "steps", "way_to"]


def key_name(keys: KeyFacts, use: Use) -> str:
    """Name the key of a use as it is known where the use stands."""
    for value in use.spot.operands:
        if value.name and keys.term(value) is use.term:
            return f"`{value.name}`"
    same = use.origin.term is use.term or use.inner is None
    return name_of(keys, use.term, use.origin.value if same else None)


def line_of(span: Span, seen_from: Span) -> str:
    """Return where a place is: the line alone within one file."""
    return f"line {span.line}" if span.path == seen_from.path else f"{span.path}:{span.line}"


def steps(*told: Told) -> tuple[Step, ...]:
    """Turn places and texts into the steps of a finding, each once."""
    return tuple(Step(span, text) for span, text in dict.fromkeys(told))


def way_to(keys: KeyFacts, use: Use) -> list[Told]:
    """Return how a key came about and, for a call, who really uses it."""
    return [*explain_term(keys, use.term), *into_callees(keys, use)]


def short(text: str, limit: int = 90) -> str:
    """Keep a message within one line of a narrow terminal."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
