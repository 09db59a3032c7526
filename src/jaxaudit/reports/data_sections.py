"""The sections of a report about data: how it flows, what crosses into JAX and back, which axes there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxaudit.analyses.axes import Axes
from jaxaudit.analyses.axes.threads import Station, Thread
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program
from jaxaudit.ir.record import record, replace
from jaxaudit.reports.axes import ThreadAxes, axes_section, thread_axes
from jaxaudit.reports.boundaries import boundaries
from jaxaudit.reports.flow import Flow, data_flow
from jaxaudit.reports.identity import Sources
from jaxaudit.reports.inside import View, source_view, traced_view
from jaxaudit.reports.leads import leads
from jaxaudit.reports.leads.base import Look
from jaxaudit.reports.model import Axis, AxisStation, Boundary, Finding, FlowStep, Lead
from jaxaudit.reports.notes import Notes


@record
class DataSections:
    """What a report shows of the data of a program."""

    flow: tuple[FlowStep, ...]
    boundaries: tuple[Boundary, ...]
    axes: tuple[Axis, ...]


def data_sections(
    source: Program,
    notes: Notes | None,
    inferred: Facts | None,
    shown: Facts | None,
    rows: Mapping[Op, int],
    paths: frozenset[str],
) -> DataSections | None:
    """Return what there is to show; None where neither a trace nor the facts of the source tell."""
    # A run that fails early has traced nothing: then the source still shows what it shows.
    traced = notes.program if notes is not None and notes.program.roots else None
    threads = thread_axes(traced, (source, inferred.get(Shapes)) if inferred else None) if traced else None
    view = _view(notes, threads, inferred, shown, paths)
    if view is None:
        return None
    flow, crossings = data_flow(view), boundaries(view)
    return DataSections(flow.steps, crossings, _axes(threads, inferred, flow, crossings, rows, paths))


def leads_of(
    inferred: Facts | None, sources: Sources, paths: frozenset[str], findings: Sequence[Finding]
) -> tuple[Lead, ...]:
    """Return what is worth a second look, where source tells."""
    return leads(Look(inferred, sources, paths), findings) if inferred is not None else ()


def _view(
    notes: Notes | None, threads: ThreadAxes | None, inferred: Facts | None, shown: Facts | None, paths: frozenset[str]
) -> View | None:
    """See what was traced where something was, else what source tells."""
    if notes is not None and threads is not None:
        return traced_view(notes.program, threads.ids, shown)
    return source_view(inferred, paths) if inferred is not None else None


def _axes(
    threads: ThreadAxes | None,
    inferred: Facts | None,
    flow: Flow,
    crossings: Sequence[Boundary],
    rows: Mapping[Op, int],
    paths: frozenset[str],
) -> tuple[Axis, ...]:
    if threads is not None:
        return axes_section(threads, _shown(flow, crossings), flow.of_op, rows)
    return _source_axes(inferred.get(Axes), flow.of_op, rows, paths) if inferred is not None else ()


def _shown(flow: Flow, crossings: Sequence[Boundary]) -> frozenset[str]:
    """Return the ids of the axes that the other sections show."""
    values = {axes for step in flow.steps for value in (*step.makes, *step.enters) for axes in value.axes}
    passing = (one for boundary in crossings for one in (*boundary.entries, *boundary.exits))
    return frozenset(values | {axes for one in passing for axes in (*one.outside_axes, *one.inside_axes)})


def _source_axes(
    axes: Axes, steps: Mapping[Op, int], rows: Mapping[Op, int], paths: frozenset[str]
) -> tuple[Axis, ...]:
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
