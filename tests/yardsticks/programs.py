"""The yardstick programs: small files that say in comments what an audit of them must find.

The first line of a program tells what it shows. A line where a finding belongs ends in a mark with the names of the
rules that may speak there:

- `#! rule`: an error. A program with such marks has one bug, and at least one error must stand on a marked line.
- `# ? rule`: a warning may stand here, an error may not.

Nothing may be found on any other line. The audit never sees these comments, nor that the file is part of a test: a
comment that says "the same key" is a sign of purpose to it, and so is the name of a test.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jaxaudit.config import Config
from jaxaudit.reports.model import Report
from jaxaudit.session import audit_text

HERE = Path(__file__).parent
MARK = re.compile(r"# ?(?P<kind>[!?]) (?P<rules>[a-z][a-z -]*)$")
FAMILY = "random"


@dataclass(frozen=True, slots=True)
class Mark:
    """A line where a finding belongs."""

    line: int
    rules: tuple[str, ...]
    severity: str


@dataclass(frozen=True, slots=True)
class Program:
    """One program with its marks."""

    path: Path
    title: str
    marks: tuple[Mark, ...]

    @property
    def name(self) -> str:
        """Its name, as in `expected.toml`."""
        return self.path.stem

    @property
    def errors(self) -> tuple[Mark, ...]:
        """The marks where an error belongs."""
        return tuple(mark for mark in self.marks if mark.severity == "error")


def read_program(path: Path) -> Program:
    """Read one program and its marks."""
    lines = path.read_text(encoding="utf-8").splitlines()
    marks = []
    for number, line in enumerate(lines, start=1):
        if found := MARK.search(line):
            severity = "error" if found["kind"] == "!" else "warning"
            marks.append(Mark(number, tuple(found["rules"].split()), severity))
    return Program(path, lines[0].removeprefix("# "), tuple(marks))


def programs(folder: str) -> list[Program]:
    """Read all programs of a folder, in the order of their names."""
    return [read_program(path) for path in sorted((HERE / folder).glob("*.py"))]


def without_comments(path: Path) -> str:
    """Return a program without its first line and its marks, every line where it was."""
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    return "\n".join(["", *(MARK.sub("", line).rstrip() for line in lines)]) + "\n"


def audit_source(source: str) -> Report:
    """Audit some source for the random rules; a fault of the tool itself fails the caller."""
    outcome = audit_text("program.py", source.encode(), Config(select=(FAMILY,)))
    assert not outcome.faults, outcome.faults
    return outcome.report


@cache
def audited(path: Path) -> Report:
    """Audit one program for the random rules."""
    return audit_source(without_comments(path))


def misplaced(program: Program, report: Report) -> list[str]:
    """Say which findings stand where no mark allows them."""
    allowed = {(mark.line, rule, mark.severity) for mark in program.marks for rule in mark.rules}
    allowed |= {(line, rule, "warning") for line, rule, _ in allowed}
    return [
        f"{finding.severity} {finding.rule} at line {finding.line}: {finding.message}"
        for finding in (*report.issues, *report.warnings)
        if (finding.line, finding.rule, finding.severity) not in allowed
    ]


def answer(report: Report) -> str:
    """Sum up what an audit says: `error`, `warning`, `unknown` or `clean`, the gravest first."""
    if report.issues:
        return "error"
    if report.warnings:
        return "warning"
    return "unknown" if report.unknown else "clean"


def expected() -> dict[str, dict[str, Any]]:
    """Read what is expected of each program of the key-reuse yardstick."""
    return tomllib.loads((HERE / "key_reuse" / "expected.toml").read_text(encoding="utf-8"))
