"""The report as Markdown: what a pull request or a coding agent reads, with bounds that say what they leave out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from jaxaudit.reports import change_words as words
from jaxaudit.reports.change import Change
from jaxaudit.reports.identity import Sources
from jaxaudit.reports.markdown_flow import axis_lines, boundary_lines, flow_lines, stack_lines
from jaxaudit.reports.markdown_text import bounded, code, escaped, fenced, prose, table
from jaxaudit.reports.model import Coverage, Finding, Report, Unknown, Verified
from jaxaudit.reports.registry import Format
from jaxaudit.reports.sections import counted, coverage_line, ranked, summary_line
from jaxaudit.reports.snippet import clean

_FINDINGS_ROOM = 16_000
_ROWS_ROOM = 3_000
_Full = Callable[[Finding, str], Iterator[str]]
"""Writes a finding in full, with what was true before where something was."""

_ISSUES_ROOM = 16_000
_WARNINGS_ROOM = 6_000
_VERIFIED_ROOM = 5_000
_UNKNOWN_ROOM = 3_000
_MOST_PLACES = 5
_MOST_CODE = 4
_LONGEST_LINE = 200

Lines = Callable[[Report], Iterator[str]]


def render_markdown(report: Report, sources: Sources) -> str:
    """Write the six sections, then the coverage, or what a change did; short enough for a comment on a pull request."""
    if report.change is not None:
        return "\n".join(_change_lines(report, report.change, lambda one, was: _finding(one, sources, was))) + "\n"
    lines = [f"# jaxaudit: {summary_line(report).plain.rstrip('.')}", "", coverage_line(report, verbose=True)]
    for title, key, section in _DATA:
        lines += ["", f"## {title}", "", *_data(report, key, section)]
    lines += ["", "## Issues Found", "", *_findings(report.issues, sources, _ISSUES_ROOM, "issues are")]
    lines += ["", "## Verified Correct", "", *(_verified(report.verified) if report.verified else ["None."])]
    lines += ["", "## Warnings", "", *_findings(report.warnings, sources, _WARNINGS_ROOM, "warnings are")]
    if report.unknown:
        lines += ["", "## Could Not Be Decided", "", *_unknown(report.unknown)]
    lines += ["", "## Coverage", "", *_coverage(report.coverage)]
    return "\n".join(lines) + "\n"


FORMAT = Format(lambda report, sources, out, detail: out.write(render_markdown(report, sources)))


_DATA: tuple[tuple[str, str, Lines], ...] = (
    ("End-to-End Data Flow", "data_flow", flow_lines),
    ("Transformation Stack", "transformation_stack", stack_lines),
    ("Shape Trace at Boundaries", "boundaries", boundary_lines),
)


def _data(report: Report, key: str, section: Lines) -> Iterator[str]:
    """Return a section about data, folded away where Markdown is shown as a page: findings are read first."""
    if not getattr(report, key):
        yield "Needs exact shapes: use `run` or `trace`." if key in report.not_available else "None."
        return
    if key == "transformation_stack":
        yield from section(report)
        return
    yield from ("<details>", f"<summary>{counted(len(getattr(report, key)), *_UNITS[key])}</summary>", "")
    yield from section(report)
    if key == "data_flow" and any(axis.name for axis in report.axes):
        yield from ("", "Axes:", "", *axis_lines(report))
    yield from ("", "</details>")


_UNITS = {"data_flow": ("step", "steps"), "boundaries": ("boundary", "boundaries")}


def _findings(findings: Sequence[Finding], sources: Sources, room: int, left: str) -> Iterator[str]:
    if not findings:
        yield "None."
        return
    yield from bounded([list(_finding(one, sources)) for one in findings], room, left)


def _finding(one: Finding, sources: Sources, was: str = "") -> Iterator[str]:
    yield f"### {one.severity}: {prose(one.message)}"
    yield ""
    yield f"{code(f'{one.path}:{one.line}:{one.column}')} {code(one.rule)} (id {code(one.id)})"
    shown = list(_snippet(one, sources))
    if shown:
        yield from ("", *fenced(shown, "python"))
    yield ""
    for name, text in (("before", was), ("now", one.current), ("meant", one.expected)):
        if text:
            yield f"- {name}: {prose(text)}"
    for step in one.why:
        yield f"- why: {code(f'{step.path}:{step.line}')} {prose(step.text)}"
    if one.suggestion and one.suggestion.text:
        yield f"- fix: {prose(one.suggestion.text)}"
    yield ""


def _snippet(one: Finding, sources: Sources) -> Iterator[str]:
    source = sources(one.path)
    for number in range(one.line, min(max(one.line, one.end_line), one.line + _MOST_CODE - 1) + 1):
        text = clean(source.line(number))
        if text.strip():
            yield text if len(text) <= _LONGEST_LINE else text[:_LONGEST_LINE] + "..."


def _verified(verified: Iterable[Verified]) -> Iterator[str]:
    rules: dict[str, list[Verified]] = defaultdict(list)
    for one in verified:
        rules[one.rule].append(one)
    blocks = [_proved(rule, found) for rule, found in sorted(rules.items())]
    yield from bounded(blocks, _VERIFIED_ROOM, "rules are")


def _proved(rule: str, found: Sequence[Verified]) -> list[str]:
    reasons: dict[str, list[Verified]] = defaultdict(list)
    for one in found:
        reasons[one.reason].append(one)
    told = [
        f"  - {_places([f'{one.path}:{one.line}' for one in same])}: {prose(reason)}"
        for reason, same in islice(reasons.items(), _MOST_PLACES)
    ]
    rest = len(reasons) - len(told)
    return [
        f"- {code(rule)}: {len(found):,} proved",
        *told,
        *([f"  - and {counted(rest, 'more reason', 'more reasons')}"] if rest > 0 else []),
    ]


def _unknown(unknown: Iterable[Unknown]) -> Iterator[str]:
    found = ranked(((one.rule, one.reason), f"{one.path}:{one.line}") for one in unknown)
    told = (f"- {len(where):,} x {code(rule)}: {prose(reason)} ({_places(where)})" for (rule, reason), where in found)
    yield from bounded([[line] for line in told], _UNKNOWN_ROOM, "reasons are")


def _places(where: Sequence[str]) -> str:
    rest = len(where) - _MOST_PLACES
    return ", ".join(map(code, where[:_MOST_PLACES])) + (f" and {rest:,} more" if rest > 0 else "")


def _coverage(seen: Coverage) -> Iterator[str]:
    rows = [
        (name, f"{tally.obligations:,}", f"{tally.proved:,}", f"{tally.violated:,}", f"{tally.unknown:,}")
        for name, tally in seen.by_family.items()
        if tally.obligations
    ]
    if not rows:
        yield "The rules of this run found nothing that they look at."
        return
    yield from table(("family", "obligations:", "proved:", "violated:", "unknown:"), rows)
    if seen.observed:
        entered = [
            (code(f"{one.path}:{one.line}"), code(one.function.rpartition(".")[2]), escaped(one.text))
            for one in seen.observed
        ]
        yield from ("", "Functions entered with arguments that were observed:", "")
        yield from table(("place", "function", "observed"), entered)


def _change_lines(report: Report, change: Change, full: _Full) -> Iterator[str]:
    """Return all that a change did."""
    yield from (f"# jaxaudit: {prose(words.conclusion(report, change)).rstrip('.')}", "", prose(words.headline(change)))
    if told := words.dispatch(change):
        yield prose(told)
    broken = [list(full(finding, words.was(one))) for one, finding in words.broken_findings(report, change)]
    new = [list(full(finding, "")) for finding in words.new_findings(report, change)]
    yield from _section("Constraints Broken", broken, _FINDINGS_ROOM, "constraints are")
    yield from _section("New Findings", new, _FINDINGS_ROOM, "findings are")
    lost = [(words.place(one), one.rule, words.undecided(one)) for one in words.still_undecided(report, change)]
    yield from _rows("No Longer Shown To Hold", lost)
    for title, some in (("Changed At Boundaries", change.boundaries), ("Computed Otherwise", change.facts)):
        yield from _rows(title, [(f"{one.path}:{one.line}", one.kind, one.text) for one in some])
    yield from _rows("Fixed", [(f"{one.path}:{one.line}", one.rule, words.fixed(one)) for one in change.fixed])


def _rows(title: str, rows: list[tuple[str, str, str]]) -> Iterator[str]:
    told = [[f"- {code(where)} {code(kind)}: {prose(text)}"] for where, kind, text in rows]
    yield from _section(title, told, _ROWS_ROOM, "rows are")


def _section(title: str, blocks: list[list[str]], room: int, left: str) -> Iterator[str]:
    if blocks:
        yield from ("", f"## {title}", "", *bounded(blocks, room, left))
