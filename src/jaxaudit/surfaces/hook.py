"""The command `hook`: what an edit of a coding agent broke, told to the agent.

Exit code 2 with text on standard error is what agents take for feedback. All else is silent and 0: an agent is never
held up by trouble of ours, nor longer than the deadline.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from jaxaudit.config import UsageError, find_config
from jaxaudit.surfaces.options import fails

if TYPE_CHECKING:
    from jaxaudit.outcome import Outcome
    from jaxaudit.reports.model import Finding, Report
    from jaxaudit.surfaces.events import Edit

MOST_FINDINGS = 10
FEEDBACK = 2
"""The exit code at which agents read standard error."""


@click.command()
@click.option(
    "--deadline", default=30.0, show_default=True, metavar="SECONDS", help="Give up in silence after this long."
)
@click.pass_context
def hook(context: click.Context, /, *, deadline: float) -> None:
    """Audit what an edit broke, for a coding agent: reads its edit event as JSON on standard input.

    Silent when nothing is worse than in the last commit; else exit code 2 and at most ten findings on standard error.
    """
    from jaxaudit.surfaces.events import NoEditError, edit_of

    told = ""
    with _given_up_after(deadline):
        try:
            edit = edit_of(sys.stdin.buffer.read())
            told = feedback(edit, _audited(edit))
        except (NoEditError, UsageError) as why:
            click.echo(f"jaxaudit: {why}", err=True)
        except Exception as error:
            if os.environ.get("JAXAUDIT_DEBUG"):
                raise
            fault = f"{type(error).__name__}: {error} (JAXAUDIT_DEBUG=1 shows more)"
            click.echo(f"jaxaudit: internal error: {fault}", err=True)
    if told:
        click.echo(told, err=True)
        context.exit(FEEDBACK)


@contextmanager
def _given_up_after(seconds: float) -> Iterator[None]:
    """End this process when its time is over, whatever it is doing then."""

    def give_up() -> None:
        sys.stderr.write(f"jaxaudit: this edit was not audited within {seconds:g} seconds\n")
        sys.stderr.flush()
        os._exit(0)

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _audited(edit: Edit) -> Outcome:
    """Audit an edit, or say in a sentence why there is nothing to audit."""
    from jaxaudit.surfaces.events import NoEditError

    os.chdir(edit.directory)
    name = os.path.relpath(edit.path)
    if edit.path.suffix != ".py":
        raise NoEditError(f"{name} is no Python file, so it is not audited")
    if not os.path.isfile(edit.path):  # noqa: PTH113
        raise NoEditError(f"{name} is not there any more, so it is not audited")

    from jaxaudit.changes.edit import audit_edit
    from jaxaudit.changes.repository import repository
    from jaxaudit.discover import exclusion

    # Without git there may still be what the event tells.
    found = repository(edit.directory) if _has_git() else None
    root = edit.directory if found is None else found.root
    if not edit.path.resolve().is_relative_to(root.resolve()):
        raise NoEditError(f"{name} is outside of the project in {root}, so it is not audited")
    config = find_config(edit.path.parent)
    if exclusion(config)(edit.path):
        raise NoEditError(f"{name} is excluded by the configuration, so it is not audited")
    outcome = audit_edit(edit.path, edit.before, found, config)
    change = outcome.report.change
    if change is not None and change.files and not change.touches_jax and not outcome.report.issues:
        raise NoEditError(f"this edit of {name} does not touch JAX, so it is not audited")
    return outcome


def _has_git() -> bool:
    from shutil import which

    return which("git") is not None


def feedback(edit: Edit, outcome: Outcome) -> str:
    """Return what the agent should know, empty where nothing is worse than before."""
    report = outcome.report
    if not fails(report, strict=find_config(edit.path.parent).strict):
        return ""
    from jaxaudit.reports.snippet import clean

    return "\n".join(clean(line) for line in _lines(report, os.path.relpath(edit.path)))


def _lines(report: Report, name: str) -> Iterator[str]:
    change = report.change
    assert change is not None
    since = "in the last commit" if change.before.startswith("HEAD") else "before"
    findings = [*report.issues, *report.warnings]
    shown, rest = findings[:MOST_FINDINGS], findings[MOST_FINDINGS:]
    many = f"{len(findings)} findings that were" if len(findings) != 1 else "a finding that was"
    yield f"jaxaudit: this edit of {name} brings {many} not there {since}."
    held = {one.finding: one.before for one in change.broken}
    for one in shown:
        yield ""
        yield from _finding(one, held.get(one.id, ""))
    if rest:
        yield ""
        yield f"{len(rest)} more: `jaxaudit diff` shows all."
    told = {(one.path, one.line) for one in shown}
    notes = [*change.boundaries, *(one for one in change.facts if (one.path, one.line) not in told)]
    for one in notes[: MOST_FINDINGS - len(shown)]:
        yield f"note: {one.path}:{one.line} {one.text}"
    rule = shown[0].rule if shown else ""
    if rule:
        yield ""
        yield (
            f"Repair these, or say in the code that they are meant: `# jaxaudit: ignore[{rule}] why`. "
            f"`jaxaudit explain {rule}` has the rule."
        )


def _finding(one: Finding, held: str) -> Iterator[str]:
    yield f"{one.path}:{one.line}:{one.column} {one.severity}[{one.rule}] {one.message}"
    fix = one.suggestion.text if one.suggestion is not None else ""
    for label, text in (("now", one.current), ("meant", one.expected), ("held before", held), ("fix", fix)):
        if text:
            yield f"  {label}: {' '.join(text.split())}"
    for step in one.why[:3]:
        yield f"  see {step.path}:{step.line}: {step.text}"
