"""The axes in the text report: one line an axis, with the stations of its way."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from jaxaudit.reports.model import Axis, Report
from jaxaudit.reports.snippet import Look, clean

_SHOWN_STATIONS = 12
_TELLING = frozenset("enters vmapped scanned stacked collected merged sharded".split())
"""Stations that make an axis without a name worth a line."""


def axes_section(report: Report, look: Look) -> Iterator[Text]:
    """Give every axis that has a name or goes through a transformation, in the order in which they appear."""
    arrow = " → " if look.unicode else " -> "
    root = ""
    shown = [axis for axis in report.axes if _tells(axis)]
    for axis in shown:
        if axis.root != root:
            root = axis.root
            yield Text(f"  {clean(root)}", "bold")
        yield from _axis(axis, arrow)
    rest = len(report.axes) - len(shown)
    if rest:
        yield Text(f"    and {rest} without a name: the other formats have them", "dim")
    yield Text()


def _tells(axis: Axis) -> bool:
    return bool(axis.name) or any(station.kind in _TELLING for station in axis.stations)


def _axis(axis: Axis, arrow: str) -> Iterator[Text]:
    name = clean(axis.name or axis.origin)
    line = Text("    ").append(name, "bold").append(f" {axis.size}")
    if axis.aliases:
        line.append(f"  also {clean(', '.join(axis.aliases))}", "dim")
    told = [f"{station.kind} {station.line}" for station in axis.stations[:_SHOWN_STATIONS]]
    rest = len(axis.stations) - len(told)
    more = [f"and {rest} more"] if rest > 0 else []
    yield line.append("  " + arrow.join([*told, *more]), "dim")
