"""The report for people: short by default, all six sections with `verbose`, one line a finding with `quiet`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TextIO

from rich.console import Console
from rich.text import Text

from jaxaudit.reports import change_words as words
from jaxaudit.reports.change import Change
from jaxaudit.reports.identity import Sources
from jaxaudit.reports.model import Finding, Report, WhyStep
from jaxaudit.reports.registry import Detail, Format
from jaxaudit.reports.sections import all_sections, coverage_line, heading, summary_line
from jaxaudit.reports.snippet import Look, Marked, clean, code_line, snippet, under_line

_Full = Callable[[Finding, str], Iterator[Text]]
"""Writes a finding in full, with what was true before where something was."""
_MOST_ROWS = 20

_STYLES = {"error": "bold red", "performance": "bold magenta", "warning": "bold yellow"}
_UNLIMITED = 10_000
_PLAIN = Detail()
_LABEL = 9
"""Where the text after `now:`, `meant:`, `why:` and `fix:` starts."""


def render_text(report: Report, sources: Sources, out: TextIO, detail: Detail = _PLAIN) -> None:
    """Write the report to a terminal, a pipe or a file."""
    console = Console(file=out, highlight=False, soft_wrap=True)
    print_report(report, sources, console, verbose=detail.verbose, quiet=detail.quiet)


FORMAT = Format(render_text, for_people=True, findings_only=True)


def print_report(
    report: Report, sources: Sources, console: Console, *, verbose: bool = False, quiet: bool = False
) -> None:
    """Write the report to a console; a pipe gets long lines, so that no reader has to join them again."""
    look = look_of(console)
    if quiet:
        lines = (one_line(finding) for finding in report.issues)
    elif verbose:
        lines = all_sections(report, lambda findings: _findings(findings, sources, look), look)
    else:
        lines = short(report, sources, look)
    if report.change is not None and not quiet:
        told = _change_sections(
            report, report.change, lambda one, was: finding_lines(one, sources, look, was), look, verbose=verbose
        )
        lines = (*told, *(lines if verbose else ()))
    parts = (part for line in lines for part in fitted(line, look.width, console))
    if console.color_system is None and not console.record:
        # Only the plain text would be left of it, and rich takes its time to find that out.
        console.file.writelines(f"{part.plain.expandtabs()}\n" for part in parts)
        return
    for part in parts:
        console.print(part, soft_wrap=True, crop=False, no_wrap=True, overflow="ignore")


def fitted(line: Text, width: int, console: Console) -> Iterable[Text]:
    """Break a line that is too long for the terminal between words, and indent what follows below its text."""
    if line.cell_len <= width:
        return [line]
    start = _START.match(line.plain)
    indent = min(start.end() if start else 0, width // 2)
    first, *rest = line.wrap(console, width, no_wrap=False)
    if not rest:
        return [first]
    tail = line[len(first.plain) :]
    tail = tail[len(tail.plain) - len(tail.plain.lstrip()) :]
    first.rstrip()
    return [first, *(Text(" " * indent).append_text(part) for part in tail.wrap(console, width - indent))]


_START = re.compile(r"[\s│├└─|`-]*(?:\d+ {2,}|(?:in|out) {1,3}\S* {2,})?")
"""What stands before the text of a line: blanks, guides, a line number, the name of what crosses."""


def look_of(console: Console) -> Look:
    """Return what the console can show."""
    pinned = "COLUMNS" in getattr(console, "_environ", {})
    width = console.width if console.is_terminal or pinned else _UNLIMITED
    return Look(max(width, 40), unicode=(console.encoding or "").lower().startswith("utf"))


def short(report: Report, sources: Sources, look: Look) -> Iterator[Text]:
    """Return the default output: issues, warnings, two lines of summary."""
    yield from _findings(report.issues, sources, look)
    if report.warnings:
        yield heading("Warnings", look)
        yield from _findings(report.warnings, sources, look)
    yield summary_line(report)
    yield from wrapped(coverage_line(report), "", look)


def one_line(finding: Finding) -> Text:
    """Return a finding on one line, for `--quiet` and for grep."""
    line = Text().append(clean(f"{finding.path}:{finding.line}:{finding.column}: "), "bold")
    line.append(finding.severity, _STYLES[finding.severity]).append(f"[{finding.rule}] ")
    return line.append_text(prose(finding.message))


def finding_lines(finding: Finding, sources: Sources, look: Look, was: str = "") -> Iterator[Text]:
    """Return a finding in full: where, what, the code, what was true before, now, meant, why, fix."""
    style = _STYLES[finding.severity]
    head = Text().append(clean(f"{finding.path}:{finding.line}:{finding.column}"), "bold")
    yield head.append("  ").append(finding.severity, style).append(f"  {finding.rule}", "dim")
    yield from wrapped(finding.message, "", look, "bold")
    source = sources(finding.path)
    if source.line(finding.line).strip():
        yield Text()
        marked = Marked(finding.line, finding.column, finding.end_line, finding.end_column)
        yield from snippet(source, marked, look, style)
        yield from [Text()] if was or finding.current or finding.expected or finding.why or finding.suggestion else []
    if was:
        yield from wrapped(was, "was:", look)
    yield from _details(finding, sources, look)


def wrapped(text: str, label: str, look: Look, style: str = "") -> Iterator[Text]:
    """Return a text wrapped to the terminal, behind a label or flush left without one; its own line breaks stay."""
    indent = _LABEL if label else 0
    lines: list[str] = []
    for part in text.splitlines() or [""]:
        kept = part[: len(part) - len(part.lstrip())]
        lines += textwrap.wrap(
            clean(part),
            max(look.width - indent, 20),
            subsequent_indent=kept,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    for number, line in enumerate(lines):
        start = f"  {label}" if label and not number else ""
        yield Text().append(start.ljust(indent), "dim").append_text(prose(line, style))


def prose(text: str, style: str = "") -> Text:
    """Return a text with the names in backticks set apart; nothing in it is markup."""
    line = Text(clean(text), style)
    line.highlight_regex(r"`[^`]*`", "cyan")
    return line


def _findings(findings: Sequence[Finding], sources: Sources, look: Look) -> Iterator[Text]:
    for finding in findings:
        yield from finding_lines(finding, sources, look)
        yield Text()


def _details(finding: Finding, sources: Sources, look: Look) -> Iterator[Text]:
    if finding.current:
        yield from wrapped(finding.current, "now:", look)
    if finding.expected:
        yield from wrapped(finding.expected, "meant:", look)
    yield from _why(finding.why, finding.path, sources, look)
    if finding.suggestion and finding.suggestion.text:
        yield from wrapped(finding.suggestion.text, "fix:", look)


def _why(steps: Sequence[WhyStep], path: str, sources: Sources, look: Look) -> Iterator[Text]:
    gutter = max((len(str(step.line)) for step in steps), default=0)
    for number, step in enumerate(steps):
        source = sources(step.path)
        before = steps[number - 1].path if number else path
        lines = [Text(" " * _LABEL + clean(step.path), "dim")] if step.path != before else []
        if source.line(step.line).strip():
            lines.append(code_line(source, step.line, look, gutter, _LABEL))
        room = Look(look.width - _LABEL - gutter - 3, look.unicode)
        lines += [under_line(line, look, gutter, _LABEL) for line in wrapped(step.text, "", room)]
        if not number:
            lines[0] = Text().append("  why:".ljust(_LABEL), "dim").append_text(lines[0][_LABEL:])
        yield from lines


def _change_sections(
    report: Report, change: Change, full: _Full, look: Look, *, verbose: bool = False
) -> Iterator[Text]:
    """Return all that a change did, and one line that sums it up."""
    yield Text(clean(words.headline(change)))
    if told := words.dispatch(change):
        yield Text(clean(told))
    yield Text()
    broken, new = list(words.broken_findings(report, change)), words.new_findings(report, change)
    if broken:
        yield heading("Constraints Broken", look)
        for one, finding in broken:
            yield from (*full(finding, words.was(one)), Text())
    if new:
        yield heading("New Findings", look)
        for finding in new:
            yield from (*full(finding, ""), Text())
    lost = words.still_undecided(report, change, verbose=verbose)
    yield from _rows(
        "No Longer Shown To Hold", [(words.place(one), one.rule, words.undecided(one)) for one in lost], look
    )
    boundaries = [(f"{one.path}:{one.line}", one.kind, one.text) for one in change.boundaries]
    yield from _rows("Changed At Boundaries", boundaries, look)
    facts = [(f"{one.path}:{one.line}", one.kind, one.text) for one in change.facts]
    yield from _rows("Computed Otherwise", facts, look)
    fixed = [(f"{one.path}:{one.line}", one.rule, words.fixed(one)) for one in change.fixed]
    yield from _rows("Fixed", fixed, look)
    bad = bool(report.issues)
    yield Text(
        words.conclusion(report, change), "bold red" if bad else "bold yellow" if report.warnings else "bold green"
    )


def _rows(title: str, rows: list[tuple[str, str, str]], look: Look) -> Iterator[Text]:
    if not rows:
        return
    yield heading(title, look)
    for where, kind, text in rows[:_MOST_ROWS]:
        yield Text("  ").append(clean(where), "bold").append(f"  {kind}  ", "dim").append(clean(text))
    if len(rows) > _MOST_ROWS:
        yield Text(f"  and {len(rows) - _MOST_ROWS:,} more; `--format json` has all of them", "dim")
    yield Text()
