"""Folds the leaves of pytrees for people: `state.params (8 arrays)` rather than eight paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_PART = re.compile(r"(?=[.\[])")
_MOST = 6
"""Groups to tell of one step or boundary before trees are folded further."""


class Fold(NamedTuple):
    """Some leaves that are told as one."""

    label: str
    places: tuple[int, ...]
    """Which of the leaves."""


def fold(names: Sequence[str], most: int = _MOST) -> list[Fold]:
    """Put leaves together by the beginning of their path, as little as it takes to have few groups."""
    if len(names) <= most:
        return [Fold(name, (place,)) for place, name in enumerate(names)]
    parts = [_PART.split(name) for name in names]
    best = _grouped(parts, 1)
    for depth in range(2, max(map(len, parts), default=1) + 1):
        further = _grouped(parts, depth)
        if len(further) > most:
            break
        best = further
    return best


def _grouped(parts: Sequence[Sequence[str]], depth: int) -> list[Fold]:
    groups: dict[str, list[int]] = {}
    for place, own in enumerate(parts):
        groups.setdefault("".join(own[:depth]), []).append(place)
    return [
        Fold("".join(parts[places[0]]) if len(places) == 1 else label, tuple(places))
        for label, places in groups.items()
    ]


def arrays(count: int) -> str:
    """Say how many leaves a folded tree has."""
    return f"({count} arrays)"
