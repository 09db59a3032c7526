"""Text of the user inside Markdown: shown, never obeyed, and never longer than there is room for.

Names, code and messages come from audited files. Here they become code spans, fenced blocks, table cells and labels of
diagrams that cannot end early, link, mention people or become HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from jaxaudit.reports.snippet import clean

_SPECIAL = re.compile(r"([\\*_\[\]#|~$])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "`": "&#96;"}
_LONGEST_NAME = 120


def escaped(text: str) -> str:
    """Return text in which nothing is markup, and nobody is mentioned."""
    plain = _SPECIAL.sub(r"\\\1", clean(" ".join(text.split())))
    return re.sub(r"[&<>@`]", lambda found: _ENTITIES[found[0]], plain)


def prose(text: str) -> str:
    """Return a message: names in backticks stay code, the rest is plain text."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escaped(text)
    told = (_spaced(part) if number % 2 else _padded(part) for number, part in enumerate(parts))
    return "".join(told).strip()


def _padded(text: str) -> str:
    """Escape a part between two names and keep the blanks at its ends."""
    if not text.strip():
        return " " if text else ""
    return (" " if text[0].isspace() else "") + escaped(text) + (" " if text[-1].isspace() else "")


def _spaced(text: str) -> str:
    return code(text) if text.strip() else ""


def code(text: str) -> str:
    """Return a code span, also of text with backticks in it."""
    shown = clean(" ".join(text.split()))
    if len(shown) > _LONGEST_NAME:
        shown = shown[: _LONGEST_NAME - 3] + "..."
    if not shown:
        return ""
    fence = "`" * (_longest_run(shown) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def cell(text: str) -> str:
    """Return a text for a table: a bar would end the cell even inside a code span."""
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Return the lines of a table; a head that ends in a colon is aligned to the right."""
    yield "| " + " | ".join(name.removesuffix(":") for name in head) + " |"
    yield "|" + "|".join("---:" if name.endswith(":") else "---" for name in head) + "|"
    for row in rows:
        yield "| " + " | ".join(cell(one) for one in row) + " |"


def fenced(lines: Sequence[str], language: str) -> list[str]:
    """Return a block of code that its own text cannot end."""
    fence = "`" * max(3, max((_longest_run(line) for line in lines), default=0) + 1)
    return [f"{fence}{language}", *lines, fence]


def label(text: str, most: int = 60) -> str:
    """Return a text for a node of a mermaid diagram, between double quotes."""
    shown = clean(" ".join(text.split()))
    shown = shown if len(shown) <= most else shown[: most - 3] + "..."
    return "".join(char if char.isalnum() or char in " _.,:=/()" else f"#{ord(char)};" for char in shown)


def bounded(blocks: Sequence[Sequence[str]], room: int, left: str) -> Iterator[str]:
    """Return as many blocks as there is room for, and say how many are left out; `left` names them."""
    for number, block in enumerate(blocks):
        room -= sum(len(line) + 1 for line in block)
        if room < 0:
            yield ""
            yield f"_{len(blocks) - number:,} {left} left out for length; `--format json` has all of them._"
            return
        yield from block


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
