"""What crosses a boundary, for people: trees whose leaves cross in one way and keep their shape are told as one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from jaxaudit.reports.model import Crossing, Report

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
    """Return how many leaves a folded tree has."""
    return f"({count} arrays)"


Named = Mapping[str, str]
"""The names of axes by their id."""

_MOST_ROWS = 12
_FEW_ROWS = 3
"""Rows for trees that keep their shape before they are folded further: what changes is what a reader looks for."""


class Row(NamedTuple):
    """One array that crosses, or a whole tree of them."""

    name: str
    outside: str
    inside: str
    how: str
    count: int = 1

    @property
    def keeps(self) -> bool:
        """Whether it is inside what it is outside, so that its shape is told once."""
        return self.outside == self.inside and self.how in UNCHANGED


def axis_names(report: Report) -> Named:
    """Return the names that are worth showing in a shape: those that somebody gave, and products of them."""
    shown = ("declared", "constant", "axis_name", "product")
    return {axis.id: axis.name for axis in report.axes if axis.named_by in shown}


def shape_text(kind: str, axes: Sequence[str], named: Named) -> str:
    """Write a type with the names of its axes: `f32[batch=32,4]`."""
    dtype, bracket, sizes = kind.partition("[")
    parts = sizes.removesuffix("]").split(",") if sizes != "]" else []
    if not bracket or len(parts) != len(axes):
        return kind
    told = [f"{named[one]}={size}" if one in named else size for size, one in zip(parts, axes, strict=True)]
    return f"{dtype}[{','.join(told)}]"


def crossing_rows(crossings: Sequence[Crossing], named: Named) -> Iterator[Row]:
    """Return what crosses in one direction, put together by how it crosses."""
    for how in dict.fromkeys(one.how for one in crossings):
        yield from _folded([one for one in crossings if one.how == how], how, named)


def _folded(own: Sequence[Crossing], how: str, named: Named) -> Iterator[Row]:
    for head, places in fold([one.name for one in own], _FEW_ROWS if how in UNCHANGED else _MOST_ROWS):
        if len(places) > 1 and head:
            yield Row(head, "", "", how, len(places))
            continue
        for one in (own[place] for place in places):
            outside = shape_text(one.outside, one.outside_axes, named) or "?"
            inside = shape_text(one.inside, one.inside_axes, named) or "?"
            yield Row(one.name, outside, inside, how)


UNCHANGED = frozenset(
    ("value", "carried", "captured", "goes in", "comes out", "gradient", "shared by all", "auxiliary")
)
"""Ways of crossing that keep the shape."""
