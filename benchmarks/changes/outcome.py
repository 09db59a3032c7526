"""What `diff` says of a change of public code."""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from dataclasses import dataclass

from benchmarks.changes.pairs import Change
from jaxaudit.changes.states import Comparison, State
from jaxaudit.changes.verdict import audit_change
from jaxaudit.config import Config
from jaxaudit.reports.change_words import still_undecided
from jaxaudit.reports.model import Report

KINDS = ("broken", "new", "changed", "open", "silent")


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that `diff` says."""

    kind: str
    """`broken`, `new`, `changed` or `open`."""
    text: str
    path: str
    line: int
    near: bool = False
    """Whether it leads to the mistake: it stands there, has a step there, or stands in what follows from it."""


def told(change: Change) -> list[Line]:
    """Ask `diff` what a change does, with all other files as the disk has them."""
    os.chdir(change.folder)
    before, after = (
        State(name, {path: text.encode() for path, text in files.items()})
        for name, files in (("before", change.before), ("after", change.after))
    )
    report = audit_change(Comparison(before, after), Config(), observed=False).report
    return list(lines(report, change))


def lines(report: Report, change: Change) -> Iterator[Line]:
    """Return all that a report of `diff` says, but for what is fixed."""
    assert report.change is not None
    new = {*report.change.new}
    for one in (*report.issues, *report.warnings):
        steps = {step.line for step in one.why if step.path in change.before}
        leads = one.line in change.near or not change.place.isdisjoint(steps)
        kind = "new" if one.id in new else "broken"
        yield Line(kind, f"{one.severity} {one.rule}: {one.message}", one.path, one.line, leads)
    for one in (*report.change.boundaries, *report.change.facts):
        yield Line("changed", f"{one.kind}: {one.text}", one.path, one.line, one.line in change.near)
    for one in still_undecided(report, report.change):
        at = {one.line, *one.lines}
        yield Line("open", f"{one.rule}: {one.now}", one.path, one.line, not at.isdisjoint(change.near))


def outcome(found: list[Line]) -> str:
    """Return the most that is said of a mistake at its place."""
    kinds: Set[str] = {one.kind for one in found if one.near}
    return next((kind for kind in KINDS if kind in kinds), "silent")
