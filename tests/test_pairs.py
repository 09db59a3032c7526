"""Pairs of programs as users write them: a correct one, and the same with one mistake.

A program says in its first line which rule must find its mistake. A line that ends in `#~ code` is replaced by that
code to make the mistake, and left out where there is none; a comment `#~ code` on a line of its own is put in. The
error must stand on such a line, or on one that ends in `#!`. The correct program must have no error at all.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jaxaudit.config import Config
from jaxaudit.reports.model import Finding
from jaxaudit.session import audit_text

PROGRAMS = sorted((Path(__file__).parent / "data" / "pairs").glob("*.py"))
MARK = re.compile(r"^(?P<indent>\s*)(?P<good>.*?)\s*#(?P<kind>[~!]) ?(?P<bad>.*)$")


def versions(text: str) -> tuple[str, str, set[int]]:
    """Return the correct program, the one with the mistake, and the lines of the latter where an error belongs."""
    good: list[str] = []
    bad: list[str] = []
    lines: set[int] = set()
    for line in text.splitlines()[1:]:
        mark = MARK.match(line)
        if mark is None:
            good.append(line)
            bad.append(line)
            continue
        kept = mark["indent"] + mark["good"]
        wrong = kept if mark["kind"] == "!" else mark["indent"] + mark["bad"]
        good.extend([kept] if mark["good"] else [])
        if wrong.strip():
            bad.append(wrong)
            lines.add(len(bad))
    return "\n".join(good) + "\n", "\n".join(bad) + "\n", lines


def errors(source: str) -> list[Finding]:
    return audit_text("program.py", source.encode(), Config()).report.issues


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_only_the_mistake_is_found(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    rule = text.removeprefix("# ").partition(":")[0]
    good, bad, lines = versions(text)
    assert good != bad
    assert [f"{one.rule} at line {one.line}: {one.message}" for one in errors(good)] == []
    found = {one.line for one in errors(bad) if one.rule == rule}
    assert found & lines, [f"{one.rule} at line {one.line}: {one.message}" for one in errors(bad)]
