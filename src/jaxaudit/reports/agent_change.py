"""What a coding agent is told of a change: what it broke, before anything else."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.reports import change_words as words
from jaxaudit.reports.agent_file import finding_lines
from jaxaudit.reports.agent_text import Block
from jaxaudit.reports.change import Change
from jaxaudit.reports.model import Report


def change_blocks(report: Report, change: Change) -> Iterator[Block]:
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
