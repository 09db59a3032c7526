"""The axes in the text report: one line an axis, with the stations of its way."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from jaxaudit.reports.model import Axis, Report
from jaxaudit.reports.snippet import Look, clean

_SHOWN_STATIONS = 12
_WIDEST_NAME = 28
_TELLING = frozenset("vmapped scanned stacked collected merged sharded".split())
"""Stations that make an axis without a name worth a line."""
_ORDER = ("declared", "constant", "axis_name", "product", "vmap", "scan", "")


def axes_section(report: Report, look: Look) -> Iterator[Text]:
    """Return every axis that has a name or goes through a transformation; those that people named come first."""
    root = ""
    roots = list(dict.fromkeys(axis.root for axis in report.axes))
    shown = [axis for axis in report.axes if tells(axis)]
    wide = min(max((len(_title(axis)) for axis in shown), default=0), _WIDEST_NAME)
    for axis in sorted(shown, key=lambda axis: (roots.index(axis.root), _ORDER.index(axis.named_by))):
        if axis.root != root:
            root = axis.root
            yield Text(f"  {clean(root)}", "bold")
        yield _axis(axis, wide, look)
    rest = len(report.axes) - len(shown)
    if rest:
        yield Text(f"    and {rest} without a name: the other formats have them", "dim")
    yield Text()


def tells(axis: Axis) -> bool:
    """Whether an axis is worth a line: it has a way to tell of, and is not one of a tree of weights."""
    kinds = {station.kind for station in axis.stations}
    if not kinds - {"made"}:
        return False
    enters = any(station.kind == "enters" and station.value.isidentifier() for station in axis.stations)
    return bool(axis.name) or enters or bool(kinds & _TELLING)


def _title(axis: Axis) -> str:
    return f"{clean(axis.name or axis.origin.removeprefix('argument '))} {axis.size or '?'}"


def _axis(axis: Axis, wide: int, look: Look) -> Text:
    """Draw an axis as a line with its stations; where a `vmap` took it away, it runs underground."""
    line = Text("    ").append(f"{_title(axis):<{wide}}  ", "bold")
    if axis.aliases:
        line.append(f"also {clean(', '.join(axis.aliases))}  ", "dim")
    stations = [station for station in axis.stations if not station.backward]
    for number, station in enumerate(stations[:_SHOWN_STATIONS]):
        if number:
            line.append(f" {_rail(look, under=stations[number - 1].kind in ('vmapped', 'sharded'))}", "dim")
        line.append(_MARKS.get(station.kind, "•*")[not look.unicode], "cyan").append(f" {station.kind} {station.line}")
    rest = len(stations) - _SHOWN_STATIONS
    return line.append(f" {_rail(look)}and {rest} more" if rest > 0 else "", "dim")


def _rail(look: Look, *, under: bool = False) -> str:
    return ("┄ " if under else "─ ") if look.unicode else (". " if under else "- ")


_MARKS = {
    "enters": "○o", "made": "○o", "joined": "○o", "vmapped": "▼v", "sharded": "▼v", "collected": "▲^", "scanned": "■#",
    "stacked": "■#", "reduced": "┤|", "projected": "┤|", "indexed": "┤|", "returned": "●@",
}  # fmt: skip
"""The mark of each kind of station, and what stands for it in ASCII."""
