"""The axes in the text report: one line an axis, with the stations of its way."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from jaxaudit.reports.model import Axis, Report
from jaxaudit.reports.snippet import Look, clean

_SHOWN_STATIONS = 12
_TELLING = frozenset("vmapped scanned stacked collected merged sharded".split())
"""Stations that make an axis without a name worth a line."""
_ORDER = ("declared", "constant", "axis_name", "product", "vmap", "scan", "")


def axes_section(report: Report, look: Look) -> Iterator[Text]:
    """Give every axis that has a name or goes through a transformation; those that people named come first."""
    arrow = " → " if look.unicode else " -> "
    root = ""
    roots = list(dict.fromkeys(axis.root for axis in report.axes))
    shown = [axis for axis in report.axes if _tells(axis)]
    for axis in sorted(shown, key=lambda axis: (roots.index(axis.root), _ORDER.index(axis.named_by))):
        if axis.root != root:
            root = axis.root
            yield Text(f"  {clean(root)}", "bold")
        yield from _axis(axis, arrow)
    rest = len(report.axes) - len(shown)
    if rest:
        yield Text(f"    and {rest} without a name: the other formats have them", "dim")
    yield Text()


def _tells(axis: Axis) -> bool:
    """Tell whether an axis is worth a line: it has a way to tell of, and is not one of a tree of weights."""
    kinds = {station.kind for station in axis.stations}
    if not kinds - {"made"}:
        return False
    enters = any(station.kind == "enters" and station.value.isidentifier() for station in axis.stations)
    return bool(axis.name) or enters or bool(kinds & _TELLING)


def _axis(axis: Axis, arrow: str) -> Iterator[Text]:
    name = clean(axis.name or axis.origin.removeprefix("argument "))
    line = Text("    ").append(name, "bold").append(f" {axis.size}")
    if axis.aliases:
        line.append(f"  also {clean(', '.join(axis.aliases))}", "dim")
    stations = [station for station in axis.stations if not station.backward]
    told = [f"{station.kind} {station.line}" for station in stations[:_SHOWN_STATIONS]]
    rest = len(stations) - len(told)
    more = [f"and {rest} more"] if rest > 0 else []
    yield line.append("  " + arrow.join([*told, *more]), "dim")
