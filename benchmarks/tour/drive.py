"""Makes a git repository of the programs, edits it, and asks `diff` what each edit does."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.tour.edits import Edit
from jaxaudit.changes.repository import repository
from jaxaudit.changes.states import compared
from jaxaudit.changes.verdict import audit_change
from jaxaudit.config import Config
from jaxaudit.reports.change_words import still_undecided
from jaxaudit.reports.model import Report

PROGRAMS = Path(__file__).parents[2] / "examples" / "tour"


@dataclass(frozen=True)
class Answer:
    """What `diff` said of one edit."""

    edit: Edit
    told: tuple[tuple[str, str], ...]
    """The rule and the line of code of everything that it tells: what is broken, new, fixed or cannot be shown."""
    boundaries: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether it told the break at the right line, and nothing else."""
        if not self.edit.rule:
            return not self.told and not self.boundaries
        return self.told == ((self.edit.rule, self.edit.line),)


def ask(edit: Edit) -> Answer:
    """Make an edit, ask what it does, and take it back."""
    place = _place()
    os.environ["JAXAUDIT_CACHE_DIR"] = str(place.with_name("answers"))
    with chdir(place), _edited(edit):
        report = audit_change(compared(repository(Path.cwd()), "", Config()), Config()).report
        assert report.change is not None
        return Answer(edit, tuple(_told(report)), tuple(one.text for one in report.change.boundaries))


@cache
def _place() -> Path:
    """Commit the programs in a repository of their own, once a process; what is known of them is kept beside it."""
    top = Path(tempfile.mkdtemp(prefix="tour-"))
    atexit.register(shutil.rmtree, top, ignore_errors=True)
    place = top / "programs"
    shutil.copytree(PROGRAMS, place, ignore=shutil.ignore_patterns("__pycache__"))
    who = ["-c", "user.name=tour", "-c", "user.email=tour@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "Two correct programs"]):
        subprocess.run(["git", *command], cwd=place, check=True, capture_output=True)
    return place


@contextmanager
def _edited(edit: Edit) -> Iterator[None]:
    before = {path: path.read_text() for path in Path().rglob("*.py")}
    try:
        for path, old, new in edit.changes:
            _replace(Path(path), old, new)
        for old, new in edit.renamed:
            Path(old).rename(new)
        yield
    finally:
        for path in set(Path().rglob("*.py")) - before.keys():
            path.unlink()
        for path, text in before.items():
            path.write_text(text)


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text() if file.exists() else ""
    if old and text.count(old) != 1:
        raise ValueError(f"{old!r} stands {text.count(old)} times in {file}")
    file.write_text(text.replace(old, new) if old else text + new)


def _told(report: Report) -> Iterator[tuple[str, str]]:
    assert report.change is not None
    for one in (*report.issues, *report.warnings):
        yield one.rule, _line(one.path, one.line)
    for one in still_undecided(report, report.change):
        yield f"{one.rule} (open)", _line(one.path, one.line)
    yield from ((f"{one.rule} (fixed)", one.message) for one in report.change.fixed)


def _line(path: str, number: int) -> str:
    return Path(path).read_text().splitlines()[number - 1].strip()
