"""A git repository to change, and `jaxaudit diff` in it."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner, Result

from jaxaudit.surfaces.cli import cli


@dataclass(frozen=True)
class Project:
    """A repository that tests write to."""

    root: Path

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = self.root / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text).lstrip("\n"))

    def git(self, *arguments: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]
        done = subprocess.run(["git", *who, *arguments], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout

    def commit(self, **files: str) -> None:
        self.write(**files)
        self.git("add", "-A")
        self.git("commit", "-qm", "a change", "--allow-empty")

    def run(self, *arguments: str, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(cli, ["diff", *arguments], input=stdin, catch_exceptions=False)

    def change(self, *arguments: str, stdin: str | bytes | None = None) -> dict:
        """Return what `diff` says in JSON: the change, with the places of issues and warnings beside it."""
        done = self.run("--format", "json", *arguments, stdin=stdin)
        assert done.exit_code in (0, 1), done.output
        report = json.loads(done.stdout)
        places = [f"{one['path']}:{one['line']} {one['rule']}" for one in (*report["issues"], *report["warnings"])]
        return {**report["change"], "found": places, "code": done.exit_code, "told": done.stderr}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("COLUMNS", raising=False)
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    made = Project(root)
    made.git("init", "-q", "-b", "main")
    return made
