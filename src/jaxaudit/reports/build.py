"""Turns obligations into the report: merged by place, counted, sorted, in columns that people use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from jaxaudit.analyses.axes import Axes
from jaxaudit.analyses.axes.threads import Station, Thread
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.frontends.base import Problem, Reading
from jaxaudit.ir import Op
from jaxaudit.reports.axes import ThreadAxes, axes_section, thread_axes
from jaxaudit.reports.boundaries import boundaries
from jaxaudit.reports.fact_coverage import FactCoverage, fact_coverage
from jaxaudit.reports.flow import Flow, data_flow
from jaxaudit.reports.identity import Sources, with_ids
from jaxaudit.reports.inside import View, source_view, traced_view
from jaxaudit.reports.leads import leads
from jaxaudit.reports.leads.base import Look
from jaxaudit.reports.model import (
    SCHEMA_VERSION,
    Axis,
    AxisStation,
    Boundary,
    Coverage,
    Finding,
    Report,
    SkippedFunction,
    Suggestion,
    Tally,
    Target,
    TextEdit,
    Tool,
    Unknown,
    Verified,
    WhyStep,
)
from jaxaudit.reports.notes import Notes
from jaxaudit.reports.stack import stack
from jaxaudit.rules.base import Edit, Obligation, Verdict
from jaxaudit.rules.merge import combine, credible, distinct, merge
from jaxaudit.spans import Span
from jaxaudit.version import VERSION

NOT_AVAILABLE = ("data_flow", "boundaries")
"""Sections that need shapes, which are not inferred for reports that do not show them."""


def build_report(
    obligations: Iterable[Obligation],
    problems: Iterable[Problem],
    reading: Reading,
    audited: Sequence[str],
    families: Mapping[str, str],
    sources: Sources,
    notes: Notes | None = None,
    inferred: Facts | None = None,
    shown: Facts | None = None,
    known: Sequence[Facts | None] = (),
    *,
    sections: bool = True,
) -> Report:
    """Build the report on the audited paths; what source shows names axes and fills its sections.

    `inferred` are the facts of the source, `shown` those of the program that the sections show, `known` those of all
    programs. Without `sections` those about data stay empty.
    """
    paths = frozenset(audited)
    merged = distinct(combine(credible(merge(one for one in obligations if one.span.path in paths))))
    front_end = reading.program.front_end
    findings = [
        finding_of(one, families[one.rule], one.front_end or front_end, sources) for one in merged if one.speaks
    ]
    findings += [unreadable(one, front_end) for one in problems if one.path in paths]
    findings = list(with_ids(sorted(findings, key=order), sources))
    rows = stack(reading.program, notes, paths)
    # A run that fails early has traced nothing: then the source still shows what it shows.
    traced = notes.program if sections and notes is not None and notes.program.roots else None
    threads = thread_axes(traced, (reading.program, inferred.get(Shapes)) if inferred else None) if traced else None
    view = _view(notes, threads, inferred, shown, paths)
    flow = data_flow(view) if view else None
    crossings = boundaries(view) if view else ()
    return Report(
        schema_version=SCHEMA_VERSION,
        tool=Tool("jaxaudit", VERSION),
        targets=(*(Target(path, front_end) for path in sorted(audited)), *(notes.targets if notes else ())),
        data_flow=flow.steps if flow else (),
        transformation_stack=rows.rows,
        boundaries=crossings,
        axes=_axes(threads, inferred, flow, crossings, rows.of_op, paths) if flow else (),
        issues=tuple(one for one in findings if one.severity != "warning"),
        warnings=tuple(one for one in findings if one.severity == "warning"),
        verified=tuple(Verified(*_told(one, families, sources)) for one in merged if one.verdict is Verdict.PROVED),
        unknown=tuple(Unknown(*_told(one, families, sources)) for one in merged if one.verdict is Verdict.UNKNOWN),
        coverage=coverage_of(merged, reading, families, notes, fact_coverage(known, paths)),
        not_available=() if view else NOT_AVAILABLE,
        leads=leads(Look(inferred, sources, paths), findings) if inferred is not None else (),
    )


def _told(one: Obligation, families: Mapping[str, str], sources: Sources) -> tuple[str, str, str, int, str, int]:
    path, line, column = one.span[:3]
    shown = sources(path).code_point_column(line, column) + 1 if column else 1
    return one.rule, families[one.rule], path, line, one.reason, shown


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


def finding_of(one: Obligation, family: str, front_end: str, sources: Sources) -> Finding:
    """Turn an obligation that has something to say into a finding, still without an id."""
    line, column, end_line, end_column = place(one.span, sources)
    suggestion = Suggestion(one.suggestion, tuple(_edit(edit, sources) for edit in one.edits))
    return Finding(
        id="",
        rule=one.rule,
        family=family,
        severity=one.severity.value,
        path=one.span.path,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        message=one.message,
        current=one.current,
        expected=one.expected,
        why=tuple(WhyStep(step.span.path, step.span.line, step.text) for step in one.steps),
        suggestion=suggestion if suggestion.text or suggestion.edits else None,
        front_end=front_end,
    )


def unreadable(problem: Problem, front_end: str) -> Finding:
    """Turn a file that could not be read or parsed into a finding; columns are 1-based, as in Python's errors."""
    line, column = max(problem.line, 1), max(problem.column, 1)
    return Finding(
        id="",
        rule="unreadable-file",
        family="files",
        severity="warning" if problem.limit else "error",
        path=problem.path,
        line=line,
        column=column,
        end_line=line,
        end_column=column,
        message=problem.message,
        current="nothing in it is audited",
        suggestion=Suggestion(problem.suggestion) if problem.suggestion else None,
        front_end=front_end,
    )


def coverage_of(
    merged: Sequence[Obligation],
    reading: Reading,
    families: Mapping[str, str],
    notes: Notes | None = None,
    facts: FactCoverage | None = None,
) -> Coverage:
    """Count the obligations by verdict, in all and by family, and take over the reach of the front ends."""
    facts = facts or FactCoverage()
    reach = reading.reach
    total = _tally(merged)
    return Coverage(
        obligations=total.obligations,
        proved=total.proved,
        violated=total.violated,
        unknown=total.unknown,
        by_family={
            family: _tally([one for one in merged if families[one.rule] == family])
            for family in sorted(_judged(merged, families, notes))
        },
        files=reach.files,
        lines=reach.lines,
        functions=reach.functions,
        entered=reach.entered,
        skipped=(
            *(SkippedFunction(one.path, one.line, one.function, one.reason) for one in reach.skipped),
            *(notes.skipped if notes else ()),
        ),
        unfollowed=reach.unfollowed,
        traced=len(notes.program.roots) if notes else 0,
        arrays=facts.arrays,
        shapes=facts.shapes,
        shapeless=facts.shapeless,
        observed=facts.observed,
    )


def _judged(merged: Sequence[Obligation], families: Mapping[str, str], notes: Notes | None) -> set[str]:
    """Return the families to count: all that were run, and of those only a run can show the ones it did."""
    return {families[one.rule] for one in merged} if notes else set(families.values())


def place(span: Span, sources: Sources) -> tuple[int, int, int, int]:
    """Turn a span into 1-based code-point coordinates."""
    text = sources(span.path)
    start = text.code_point_column(span.line, span.column)
    end = text.code_point_column(span.end_line, span.end_column)
    return span.line, start + 1, span.end_line, end + 1


def order(finding: Finding) -> tuple[str, int, int, int, int, str]:
    """Sort findings by place, then by rule."""
    return finding.path, finding.line, finding.column, finding.end_line, finding.end_column, finding.rule


def _tally(obligations: Sequence[Obligation]) -> Tally:
    count = Counter(one.verdict for one in obligations)
    return Tally(len(obligations), count[Verdict.PROVED], count[Verdict.VIOLATED], count[Verdict.UNKNOWN])


def _edit(edit: Edit, sources: Sources) -> TextEdit:
    line, column, end_line, end_column = place(edit.span, sources)
    return TextEdit(edit.span.path, line, column, end_line, end_column, edit.replacement)


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
