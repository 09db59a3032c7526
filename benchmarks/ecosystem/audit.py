"""One package through the audit of `jaxaudit check`, in a child process that writes JSON (`findings.py`)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

QUOTED = re.compile(r"`[^`]*`")
NUMBERED = re.compile(r" on line \d+|\b(row -?\d+|part) of ")
CHILD = Path(__file__).with_name("findings.py")
COUNTS = ("files", "lines", "functions", "entered", "obligations", "proved", "violated", "unknown")


@dataclass(frozen=True, slots=True)
class Error:
    """One error of an audit, with the text of its line."""

    package: str
    path: str
    line: int
    rule: str
    text: str
    message: str
    why: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What a judgement is found by: no line number, so that it survives edits elsewhere in the file."""
        return self.package, self.path, self.rule, self.text


@dataclass(frozen=True, slots=True)
class Audit:
    """What one audit said."""

    package: str
    seconds: float
    errors: list[Error]
    coverage: dict[str, int]
    reasons: Counter[str]
    skipped: Counter[str]
    families: dict[str, tuple[int, int]]
    """How many obligations each family has, and how many of them are open."""
    unknown: Counter[tuple[str, str]]
    """Why obligations are open, by family."""
    slow: int = 0
    """How many issues are about performance alone."""
    crashes: list[str] = field(default_factory=list)


def audit_package(package: str, directory: Path) -> Audit:
    """Audit a package from the directory that holds it."""
    start = time.perf_counter()
    words = [sys.executable, str(CHILD), package]
    done = subprocess.run(words, cwd=directory.parent, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    try:
        report = json.loads(done.stdout)
        crashes = list(report["faults"])
    except ValueError:
        report, crashes = {}, [f"exit code {done.returncode}, no report: {done.stderr[-300:]}"]
    return read_report(package, directory, seconds, report, crashes)


def read_report(package: str, directory: Path, seconds: float, report: dict[str, Any], crashes: list[str]) -> Audit:
    """Take what matters here out of a JSON report."""
    coverage = report.get("coverage", {})
    issues = report.get("issues", [])
    errors = [read_error(package, directory, issue) for issue in issues if issue["severity"] == "error"]
    reasons = Counter(general(one["reason"]) for one in report.get("unknown", []))
    skipped = Counter(general(one["reason"]) for one in coverage.get("skipped", []))
    counts = {name: int(coverage.get(name, 0)) for name in COUNTS}
    tallies = coverage.get("by_family", {})
    families = {family: (one["obligations"], one["unknown"]) for family, one in tallies.items()}
    unknown = Counter((one["family"], general(one["reason"])) for one in report.get("unknown", []))
    slow = len(issues) - len(errors)
    return Audit(package, seconds, errors, counts, reasons, skipped, families, unknown, slow, crashes)


def read_error(package: str, directory: Path, issue: dict[str, Any]) -> Error:
    """Take one issue, with the text of its line."""
    path = Path(issue["path"])
    file = path if path.is_absolute() else directory.parent / path
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    text = lines[issue["line"] - 1].strip() if 0 < issue["line"] <= len(lines) else ""
    why = tuple(f"{step['line']}: {step['text']}" for step in issue.get("why", []))
    place = file.relative_to(directory.parent).as_posix()
    return Error(package, place, issue["line"], issue["rule"], text, issue["message"], why)


def general(reason: str) -> str:
    """Leave names and lines out of a reason, so that equal reasons count as one."""
    return NUMBERED.sub("", QUOTED.sub("`...`", reason))


def version_of(directory: Path) -> str:
    """Return the version of an installed package, from the metadata beside it."""
    for file in directory.parent.glob("*.dist-info/METADATA"):
        name, _, version = file.parent.name.removesuffix(".dist-info").partition("-")
        if name.replace("-", "_").lower() == directory.name.lower():
            return version
    return "?"
