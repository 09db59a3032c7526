"""Turns obligations into the report: merged by place, counted, sorted, in columns that people use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.frontends.base import Problem, Reading
from jaxaudit.reports.fact_coverage import FactCoverage, fact_coverage
from jaxaudit.reports.identity import Sources, with_ids
from jaxaudit.reports.model import (
    SCHEMA_VERSION,
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
    data, told = None, ()
    if sections:
        # Whoever shows only findings need not wait for the modules that make these.
        from jaxaudit.reports.data_sections import data_sections, leads_of

        data = data_sections(reading.program, notes, inferred, shown, rows.of_op, paths)
        told = leads_of(inferred, sources, paths, findings)
    return Report(
        schema_version=SCHEMA_VERSION,
        tool=Tool("jaxaudit", VERSION),
        targets=(*(Target(path, front_end) for path in sorted(audited)), *(notes.targets if notes else ())),
        data_flow=data.flow if data else (),
        transformation_stack=rows.rows,
        boundaries=data.boundaries if data else (),
        axes=data.axes if data else (),
        issues=tuple(one for one in findings if one.severity != "warning"),
        warnings=tuple(one for one in findings if one.severity == "warning"),
        verified=tuple(Verified(*_told(one, families, sources)) for one in merged if one.verdict is Verdict.PROVED),
        unknown=tuple(Unknown(*_told(one, families, sources)) for one in merged if one.verdict is Verdict.UNKNOWN),
        coverage=coverage_of(merged, reading, families, notes, fact_coverage(known, paths)),
        not_available=() if data else NOT_AVAILABLE,
        leads=told,
    )


def _told(one: Obligation, families: Mapping[str, str], sources: Sources) -> tuple[str, str, str, int, str, int]:
    path, line, column = one.span[:3]
    shown = sources(path).code_point_column(line, column) + 1 if column else 1
    return one.rule, families[one.rule], path, line, one.reason, shown


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
