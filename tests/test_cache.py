"""Answers are kept by everything they depend on: what changes any of it makes the audit run again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jaxaudit import cache, session
from jaxaudit.config import Config
from jaxaudit.surfaces.cli import cli

REUSED = "import jax\n\ndef f(key):\n    return jax.random.normal(key), jax.random.uniform(key)\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(REUSED)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("JAXAUDIT_CACHE_DIR", str(tmp_path / "answers"))
    return folder


@pytest.fixture
def audits(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Count how often the pipeline runs."""
    runs: list[object] = []
    real = session.audit

    def counted(*arguments: object, **options: object) -> object:
        runs.append(arguments)
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "audit", counted)
    return runs


def check(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["check", *arguments])


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_the_same_question_gets_the_same_answer_without_an_audit(
    project: Path, audits: list[object], form: str
) -> None:
    first, second = check("--format", form), check("--format", form)
    assert len(audits) == 1
    assert (first.exit_code, first.output) == (second.exit_code, second.output)
    assert first.exit_code == 1


def test_another_text_is_another_question(project: Path, audits: list[object]) -> None:
    assert check().exit_code == 1
    (project / "train.py").write_text(REUSED.replace("uniform(key)", "uniform(jax.random.fold_in(key, 1))"))
    assert "key-reused" not in check().output
    (project / "train.py").write_text(REUSED)
    assert check().exit_code == 1
    assert len(audits) == 2


def test_another_file_of_the_project_is_another_question(project: Path, audits: list[object]) -> None:
    check()
    (project / "more.py").write_text("x = 1\n")
    assert "2 files" in check().output
    assert len(audits) == 2


@pytest.mark.parametrize("option", ["--ignore=key-reused", "--select=scan", "--verbose"])
def test_other_settings_are_another_question(project: Path, audits: list[object], option: str) -> None:
    check()
    check(option)
    assert len(audits) == 2


def test_files_that_are_only_imported_count(project: Path, audits: list[object]) -> None:
    (project / "train.py").write_text(
        "import jax\nfrom helper import draw\n\ndef f(key):\n    return draw(key), draw(key)\n"
    )
    assert check("train.py").exit_code == 0  # nothing is known of `helper`
    (project / "helper.py").write_text("import jax\n\ndef draw(key):\n    return jax.random.normal(key)\n")
    assert check("train.py").exit_code == 1
    (project / "helper.py").write_text("def draw(key):\n    return 1\n")
    assert check("train.py").exit_code == 0
    assert check("train.py").exit_code == 0
    assert len(audits) == 3


def test_another_version_of_jaxaudit_asks_anew(
    project: Path, audits: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    check()
    monkeypatch.setattr(cache, "VERSION", "99")
    check()
    assert len(audits) == 2


def test_nothing_is_kept_on_request(project: Path, audits: list[object]) -> None:
    check("--no-cache")
    check("--no-cache")
    assert len(audits) == 2
    assert not (project.parent / "answers").exists()


def test_an_empty_name_of_the_directory_keeps_nothing(
    project: Path, audits: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAXAUDIT_CACHE_DIR", "")
    check()
    check()
    assert len(audits) == 2


@pytest.mark.parametrize("rubbish", [b"", b"\xc1", b"\x93\x01\x02\x03"])
def test_an_answer_that_cannot_be_read_is_no_answer(project: Path, audits: list[object], rubbish: bytes) -> None:
    first = check()
    (kept,) = (project.parent / "answers").iterdir()
    kept.write_bytes(rubbish)
    assert check().output == first.output
    assert len(audits) == 2


def test_a_directory_that_cannot_be_written_does_no_harm(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project.parent / "file").write_text("")
    monkeypatch.setenv("JAXAUDIT_CACHE_DIR", str(project.parent / "file" / "below"))
    assert check().exit_code == 1


def test_faults_are_not_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "build_report", session.build_report)
    monkeypatch.setattr(session, "provide", lambda *_: 1 / 0)
    assert check().exit_code == 2
    assert not (project.parent / "answers").exists()


def test_the_oldest_answers_go_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_ANSWERS", 2)
    answers = project.parent / "answers"
    for number, rule in enumerate(("random", "scan", "jit")):
        before = set(answers.glob("*")) if answers.exists() else set()
        cache.audit_paths(["."], Config(root=project, select=(rule,)))
        for path in set(answers.glob("*")) - before:
            os.utime(path, (number, number))
    assert sorted(path.stat().st_mtime for path in answers.iterdir()) == [1, 2]


def test_answers_are_kept_outside_of_the_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted(project.rglob("*"))
    check()
    assert sorted(project.rglob("*")) == before
    monkeypatch.delenv("JAXAUDIT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.directory() == Path("/somewhere/jaxaudit")
