"""The axes that source names, for the report: with what happens to it line by line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from jaxaudit.analyses.axes import Axes
from jaxaudit.analyses.axes.threads import Station, Thread
from jaxaudit.ir import Op
from jaxaudit.reports.model import Axis, AxisStation


def source_axes(axes: Axes, steps: Mapping[Op, int], rows: Mapping[Op, int], paths: frozenset[str]) -> tuple[Axis, ...]:
    """Return every named axis that passes through the audited files."""
    found = (_axis(thread, steps, rows, paths) for thread in axes.threads)
    return tuple(axis for axis in found if axis.stations)


def _axis(thread: Thread, steps: Mapping[Op, int], rows: Mapping[Op, int], paths: frozenset[str]) -> Axis:
    stations: dict[tuple[str, str, int], AxisStation] = {}
    for one in thread.stations:
        if one.span.path in paths:
            made = _station(one, steps, rows)
            known = stations.get((made.kind, made.path, made.line))
            told = replace(known, count=known.count + 1) if known is not None else made
            stations[made.kind, made.path, made.line] = told
    size = int(thread.size) if thread.size.isdecimal() else 0
    return Axis(thread.id, thread.name, size, "", thread.name, "constant", stations=tuple(stations.values()))


def _station(station: Station, steps: Mapping[Op, int], rows: Mapping[Op, int]) -> AxisStation:
    op, span = station.op, station.span
    # No argument of a function brings a named axis in: it begins where an op makes it.
    kind = "made" if station.deed == "enters" else station.deed
    place = (kind, span.path, span.line, f"{kind} by {station.what}", op.name)
    return AxisStation(*place, step=steps.get(op), transformation=rows.get(op))
