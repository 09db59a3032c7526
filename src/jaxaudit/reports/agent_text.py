"""Text within bounds: blocks under a title, each with room for so many characters, and what is left out is counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_LONGEST = 400
"""So long may one line be."""


class Block(NamedTuple):
    """Some lines under a title."""

    title: str
    lines: Sequence[str]
    room: int
    """How many characters they may take."""
    may_grow: bool = True
    """Whether they may take what the blocks before them did not need."""


def written(blocks: Iterable[Block]) -> str:
    """Write the blocks that have lines; what one of them does not need, those after it may use."""
    shown: list[str] = []
    spare = 0
    for block in blocks:
        room = block.room + spare * block.may_grow
        lines = list(_bounded(block.lines, room))
        spare = max(0, room - sum(len(line) + 1 for line in lines))
        if lines:
            shown.append("\n".join([block.title, *lines] if block.title else lines))
    return "\n\n".join(shown) + "\n"


def _bounded(lines: Sequence[str], room: int) -> Iterator[str]:
    for number, line in enumerate(lines):
        short = line if len(line) <= _LONGEST else line[:_LONGEST] + "..."
        room -= len(short) + 1
        if room < 0:
            yield f"  ... {len(lines) - number} more: --format json has them all"
            return
        yield short


def numbers(lines: Iterable[int], most: int = 8) -> str:
    """Write the numbers of lines, each once and in order."""
    found = sorted(set(lines))
    return ", ".join(map(str, found[:most])) + (f" and {len(found) - most} more" if len(found) > most else "")
