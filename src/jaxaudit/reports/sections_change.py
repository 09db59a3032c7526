"""What `diff` adds to a report on a terminal: broken constraints, new findings, boundaries, what is fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.text import Text

from jaxaudit.reports import change_words as words
from jaxaudit.reports.change import Change
from jaxaudit.reports.model import Finding, Report
from jaxaudit.reports.sections import heading
from jaxaudit.reports.snippet import Look, clean

Full = Callable[[Finding, str], Iterator[Text]]
"""Writes a finding in full, with what was true before where something was."""

_MOST_ROWS = 20


def change_sections(report: Report, change: Change, full: Full, look: Look, *, verbose: bool = False) -> Iterator[Text]:
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
