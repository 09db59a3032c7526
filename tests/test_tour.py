"""The tour through `diff`: every break is named at its line and nothing else is, and refactorings are silent."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from benchmarks.tour.drive import PROGRAMS, ask
from benchmarks.tour.edits import BREAKS
from benchmarks.tour.refactorings import REFACTORINGS
from jaxaudit.rules.registry import all_rules


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    # The tour keeps what it knows of the programs in a folder of its own.
    monkeypatch.setenv("JAXAUDIT_CACHE_DIR", "")


@pytest.mark.parametrize("edit", BREAKS, ids=lambda edit: edit.title)
def test_a_break_is_named_at_its_line_and_nothing_else_is(edit):
    assert ask(edit).told == ((edit.rule, edit.line),)


@pytest.mark.parametrize("edit", REFACTORINGS, ids=lambda edit: edit.title)
def test_a_refactoring_is_silent(edit):
    answer = ask(edit)
    assert (answer.told, answer.boundaries) == ((), ())


def test_the_tour_is_long_enough_and_has_all_families():
    families = {rule.name: rule.family for rule in all_rules()}
    assert len(BREAKS) >= 30
    assert len(REFACTORINGS) >= 15
    assert {families[edit.rule] for edit in BREAKS} == set(families.values())


@pytest.mark.parametrize("name", ["agent/ppo.py", "language/train.py", "language/parallel.py"])
def test_the_programs_run(name, monkeypatch, capsys):
    for library in ("jax", "flax", "optax"):
        pytest.importorskip(library)
    path = Path(PROGRAMS / name)
    monkeypatch.syspath_prepend(str(path.parent))
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.count("\n") >= 3
