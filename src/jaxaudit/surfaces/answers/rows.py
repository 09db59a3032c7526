"""What all answers share: rows, and the bound on how many there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeVar

from jaxaudit.spans import Span

Row = TypeVar("Row")
MOST_CHARACTERS = 400
"""How long one row of text is at most."""


def bounded(rows: Sequence[Row], most: int, what: str) -> tuple[list[Row], str]:
    """Return the first rows, and a sentence about those that were left out."""
    most = max(most, 1)
    left = len(rows) - most
    return list(
        rows[:most]
    ), f"{left} more {what} were left out; ask for more, or for less at once." if left > 0 else ""


def distinct(rows: Iterable[str], most: int | None = None) -> list[str]:
    """Return rows once each, cut to a bearable length."""
    return list(islice(dict.fromkeys(map(cut, rows)), most))


def cut(text: str) -> str:
    """Return a text on one line of a bearable length."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]} ..."


def place(span: Span) -> str:
    """Return a place as people write it."""
    return f"{span.path}:{span.line}"


def notices(*told: str) -> str:
    """Join what whoever asked should know."""
    return " ".join(filter(None, told))
