"""What `diff` adds to a report in Markdown; it comes first, since it is what a pull request is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxaudit.reports import change_words as words
from jaxaudit.reports.change import Change
from jaxaudit.reports.markdown_text import bounded, code, prose
from jaxaudit.reports.model import Finding, Report

_FINDINGS_ROOM = 16_000
_ROWS_ROOM = 3_000

Full = Callable[[Finding, str], Iterator[str]]
"""Writes a finding in full, with what was true before where something was."""


def change_lines(report: Report, change: Change, full: Full) -> Iterator[str]:
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
    yield from _rows(
        "Changed At Boundaries", [(f"{one.path}:{one.line}", one.kind, one.text) for one in change.boundaries]
    )
    yield from _rows("Fixed", [(f"{one.path}:{one.line}", one.rule, words.fixed(one)) for one in change.fixed])


def _rows(title: str, rows: list[tuple[str, str, str]]) -> Iterator[str]:
    told = [[f"- {code(where)} {code(kind)}: {prose(text)}"] for where, kind, text in rows]
    yield from _section(title, told, _ROWS_ROOM, "rows are")


def _section(title: str, blocks: list[list[str]], room: int, left: str) -> Iterator[str]:
    if blocks:
        yield from ("", f"## {title}", "", *bounded(blocks, room, left))
