"""Audits files of public projects as they were before and after a fix, and says which bugs the audit finds.

    python -m benchmarks.fixes CLONES [--only TEXT] [--list] [--jobs N]

CLONES has a git clone of each repository of `bugs.tsv` with its history, as `owner/name`; one that is missing is left
out. Each file is audited by itself. A bug is found where an issue or warning stands on one of its lines, or on the one
beside, or has a step of its reason there, and the fixed file has no such finding.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from jaxaudit.config import Config
from jaxaudit.reports.model import Finding, Report
from jaxaudit.session import audit_text

TABLE = Path(__file__).with_name("bugs.tsv")
KINDS = ("error", "warning", "none")
NEAR = 1
"""How many lines beside the bug a finding may stand."""


@dataclass(frozen=True)
class Bug:
    """A bug, where it was and which commit repaired it."""

    repository: str
    commit: str
    path: str
    lines: tuple[int, ...]
    seen_from: str
    """`file`: a contradiction in the file; `imports`: another module tells; `intent`: only the author knows."""
    contract: str
    text: str


@dataclass(frozen=True)
class Result:
    """What the audit makes of a bug."""

    bug: Bug
    kind: str
    why: str = ""


def bugs() -> Iterator[Bug]:
    """Read the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(list(file)[1:], delimiter="\t"):
            repository, commit, path, lines, seen_from, contract, text = row
            yield Bug(repository, commit, path, tuple(map(int, lines.split(","))), seen_from, contract, text)


def judged(clones: Path, bug: Bug) -> Result | None:
    """Audit a file before and after a fix; None where the clone does not have it."""
    texts = [_text(clones / bug.repository, state, bug.path) for state in (f"{bug.commit}^", bug.commit)]
    if None in texts:
        return None
    before, after = (audit_text("before.py", text, Config(), sections=False).report for text in texts if text)
    kept = {(one.rule, one.message) for one in _findings(after)}
    for one in _findings(before):
        lines = {one.line, *(step.line for step in one.why if step.path == one.path)}
        near = any(abs(line - at) <= NEAR for line in lines for at in bug.lines)
        if near and (one.rule, one.message) not in kept:
            kind = "warning" if one.severity == "warning" else "error"
            return Result(bug, kind, f"{one.rule} at line {one.line}: {one.message}")
    return Result(bug, "none")


def _text(clone: Path, state: str, path: str) -> bytes | None:
    command = ["git", "-C", str(clone), "show", f"{state}:{path}"]
    done = subprocess.run(command, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def _findings(report: Report) -> Sequence[Finding]:
    return (*report.issues, *report.warnings)


def table(found: Sequence[Result]) -> Iterator[str]:
    """Write the outcomes as Markdown, by what must be in sight and by contract."""
    yield "| seen from | bugs | " + " | ".join(KINDS) + " |"
    yield "| --- " * (2 + len(KINDS)) + "|"
    yield from _rows(found, lambda bug: bug.seen_from)
    yield ""
    yield "| contract | bugs | " + " | ".join(KINDS) + " |"
    yield "| --- " * (2 + len(KINDS)) + "|"
    yield from _rows(found, lambda bug: bug.contract)


def _rows(found: Sequence[Result], key: Callable[[Bug], str]) -> Iterator[str]:
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        for name in (key(one.bug), "all"):
            groups[name][one.kind] += 1
    for name, kinds in sorted(groups.items(), key=lambda item: (item[0] == "all", -item[1].total(), item[0])):
        yield "| " + " | ".join(map(str, (name, kinds.total(), *(kinds[kind] for kind in KINDS)))) + " |"


def main() -> int:
    """Audit the bugs and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("clones", type=Path)
    parser.add_argument("--only", default="", help="bugs whose repository or contract has this text")
    parser.add_argument("--list", action="store_true", help="print every bug and what was said of it")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    wanted = [bug for bug in bugs() if options.only in f"{bug.repository} {bug.contract}"]
    found: list[Result] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for bug, result in zip(wanted, pool.map(partial(judged, options.clones.resolve()), wanted), strict=True):
            if result is None:
                print(f"missing  {bug.repository} {bug.commit} {bug.path}", file=sys.stderr)
                continue
            found.append(result)
            if options.list:
                print(f"{result.kind:8} {bug.repository} {bug.commit} {bug.path}: {bug.text} {result.why}", flush=True)
    print(*table(found), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
