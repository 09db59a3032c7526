"""The report for a coding agent: plain text, the most telling facts first, within a bound that it says.

Of one file it is what to look at, of several an index of where to look, of a change what it broke.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from jaxaudit.reports import change_words as words
from jaxaudit.reports.agent_file import file_blocks, finding_lines
from jaxaudit.reports.agent_index import index_blocks
from jaxaudit.reports.agent_text import Block, written
from jaxaudit.reports.change import Change
from jaxaudit.reports.identity import Sources
from jaxaudit.reports.model import Report
from jaxaudit.reports.registry import Detail, Format
from jaxaudit.reports.snippet import clean


def render_agent(report: Report, sources: Sources) -> str:
    """Write the facts of one file, the index of several, or what a change did."""
    return "\n".join(clean(line) for line in written(_blocks(report, sources)).split("\n"))


def _blocks(report: Report, sources: Sources) -> Iterator[Block]:
    if report.change is not None:
        return _change_blocks(report, report.change)
    paths = {one.path for one in report.targets}
    return index_blocks(report, sources) if len(paths) > 1 else file_blocks(report)


def _render(report: Report, sources: Sources, out: TextIO, detail: Detail) -> None:
    out.write(render_agent(report, sources))


FORMAT = Format(_render)


def _change_blocks(report: Report, change: Change) -> Iterator[Block]:
    """Return what a change did, the most telling first."""
    head = [words.headline(change), words.dispatch(change), words.conclusion(report, change)]
    yield Block("", [line for line in head if line], 800)
    yield Block("CONSTRAINTS BROKEN (they held before)", list(_broken(report, change)), 1700)
    new = [line for one in words.new_findings(report, change) for line in finding_lines(one, path=True)]
    yield Block("NEW FINDINGS", new, 1200)
    lost = [f"  {words.place(one)} {one.rule}: {words.undecided(one)}" for one in words.still_undecided(report, change)]
    yield Block("NO LONGER SHOWN TO HOLD", lost, 700)
    edges = [f"  {one.path}:{one.line} {one.kind}: {one.text}" for one in change.boundaries]
    yield Block("CHANGED AT BOUNDARIES (does every caller know?)", edges, 700)
    touched = {one.path for one in change.files}
    leads = [f"  {one.path}:{one.line}: {one.text}" for one in report.leads if one.path in touched]
    yield Block("WORTH A SECOND LOOK IN WHAT CHANGED (facts, no verdicts)", leads, 600)
    yield Block("FIXED", [f"  {one.path}:{one.line} {one.rule}: {words.fixed(one)}" for one in change.fixed], 200)


def _broken(report: Report, change: Change) -> Iterator[str]:
    for one, finding in words.broken_findings(report, change):
        yield from finding_lines(finding, path=True)
        yield f"    before: {words.was(one)}"
