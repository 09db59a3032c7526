"""The report as workflow commands of GitHub Actions, which shows them beside the changed lines of a pull request.

GitHub shows ten errors and ten warnings of a step. The others are counted and not written, since nobody would see them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from jaxaudit.reports.change_words import conclusion, headline
from jaxaudit.reports.identity import Sources
from jaxaudit.reports.model import Finding, Report
from jaxaudit.reports.registry import Detail, Format
from jaxaudit.reports.sections import coverage_line, summary_line
from jaxaudit.reports.snippet import clean

_SHOWN = 10
"""How many commands of one kind GitHub shows of a step."""


def render_github(report: Report, sources: Sources, out: TextIO, detail: Detail) -> None:
    """Write a command for each finding that can be shown, then the summary as text of the log."""
    errors = [one for one in report.issues if one.severity == "error"]
    others = [one for one in (*report.issues, *report.warnings) if one.severity != "error"]
    lines = [*_commands("error", errors), *_commands("warning", others)]
    if report.change is not None:
        lines += [] if detail.quiet else [headline(report.change), conclusion(report, report.change)]
    elif not detail.quiet:
        lines += [summary_line(report).plain, coverage_line(report)]
    out.writelines(f"{line}\n" for line in lines)


FORMAT = Format(render_github, findings_only=True)


def _commands(kind: str, findings: Sequence[Finding]) -> Iterator[str]:
    yield from (_command(kind, one) for one in findings[:_SHOWN])
    rest = len(findings) - _SHOWN
    if rest > 0:
        yield f"{rest:,} more findings of the kind {kind} are not annotated: GitHub shows {_SHOWN} of a step."


def _command(kind: str, one: Finding) -> str:
    place = {"file": one.path, "line": one.line, "endLine": one.end_line}
    if one.line == one.end_line:  # GitHub takes columns for those of one line
        place |= {"col": one.column, "endColumn": one.end_column}
    place["title"] = f"jaxaudit: {one.rule}"
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in place.items())
    return f"::{kind} {properties}::{_data(_text(one))}"


def _text(one: Finding) -> str:
    fix = one.suggestion.text if one.suggestion else ""
    told = (one.message, one.current and f"now: {one.current}", one.expected and f"meant: {one.expected}")
    return "\n".join(filter(None, (*told, fix and f"fix: {fix}")))


def _data(text: str) -> str:
    """Escape what would end a command, and replace what the log would obey instead of showing."""
    return "%0A".join(clean(line).replace("%", "%25") for line in text.split("\n"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
