"""What `diff` says, in sentences that every format for people shows."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.reports.change import Broken, Change, Fixed
from jaxaudit.reports.model import Finding, Report
from jaxaudit.reports.sections import counted

_SHOWN_REASONS = 2
_SHOWN_LINES = 8


def headline(change: Change) -> str:
    """Return what was compared."""
    files = counted(len(change.files), "Python file", "Python files")
    differ = "differs" if len(change.files) == 1 else "differ"
    told = f"{files} {differ}" if change.files else "no Python file differs"
    others = len({*change.audited} - {one.path for one in change.files} - {one.before for one in change.files})
    audited = f"; {counted(others, 'other file', 'other files')} audited with {_them(change)}" if others else ""
    return f"From {change.before} to {change.after}: {told}{audited}."


def _them(change: Change) -> str:
    return "it" if len(change.files) == 1 else "them"


def dispatch(change: Change) -> str:
    """Return whether the change touches JAX, and why."""
    if not change.files:
        return ""
    if not change.touches_jax:
        return "It does not touch JAX: neither what differs nor what uses it computes with JAX."
    shown = [f"{one.text} ({one.path}:{one.line})" for one in change.reasons[:_SHOWN_REASONS]]
    rest = len(change.reasons) - len(shown)
    return f"It touches JAX: {', '.join(shown)}{f', and {rest:,} more' if rest else ''}."


def conclusion(report: Report, change: Change) -> str:
    """Return in one line what the change does."""
    violated = sum(one.verdict == "violated" for one in change.broken)
    undecided = sum(len(one.lines) or 1 for one in change.broken if one.verdict == "unknown")
    brought = [one for one in (*report.issues, *report.warnings) if one.id in change.new]
    issues = sum(one.severity != "warning" for one in brought)
    warnings = len(brought) - issues
    until = "until that is repaired" if report.issues else "any more"
    said = [
        counted(violated, "constraint broken", "constraints broken") if violated else "",
        counted(issues, "new issue", "new issues") if issues else "",
        counted(warnings, "new warning", "new warnings") if warnings else "",
        f"{counted(undecided, 'constraint', 'constraints')} cannot be shown to hold {until}" if undecided else "",
        f"{len(change.fixed):,} fixed" if change.fixed else "",
    ]
    told = ", ".join(filter(None, said)) or "Nothing is broken"
    kept = f" {counted(change.kept, 'finding was', 'findings were')} there before." if change.kept else ""
    return f"{told}.{kept}"


def was(broken: Broken) -> str:
    """Return why a constraint held before, and where that was."""
    moved = (broken.before_path, broken.before_line) != (broken.path, broken.line)
    at = f" (at {broken.before_path}:{broken.before_line})" if moved else ""
    return f"{broken.before}{at}"


def undecided(broken: Broken) -> str:
    """Return what cannot be decided any more, in one sentence."""
    return f"{broken.now}; before, {broken.before}"


def place(broken: Broken) -> str:
    """Return where something cannot be decided any more."""
    lines = broken.lines or (broken.line,)
    rest = len(lines) - _SHOWN_LINES
    return f"{broken.path}:{','.join(map(str, lines[:_SHOWN_LINES]))}{f' and {rest} more' if rest > 0 else ''}"


def fixed(one: Fixed) -> str:
    """Return what became of a finding."""
    return f"{one.message} ({one.now})" if one.now != "holds" else one.message


def broken_findings(report: Report, change: Change) -> Iterator[tuple[Broken, Finding]]:
    """Return the broken constraints that have a finding, with it."""
    findings = {one.id: one for one in (*report.issues, *report.warnings)}
    yield from ((one, findings[one.finding]) for one in change.broken if one.finding in findings)


def new_findings(report: Report, change: Change) -> list[Finding]:
    """Return the findings about what was not there before."""
    return [one for one in (*report.issues, *report.warnings) if one.id in change.new]


def still_undecided(report: Report, change: Change, *, verbose: bool = False) -> list[Broken]:
    """Return what was proved and cannot be decided now, unless issues explain it: behind a break little is known.

    Where all is computed as before, it is for us to see that it still holds.
    """
    shown = verbose or not (report.issues or change.same)
    return [one for one in change.broken if one.verdict == "unknown" and shown]
