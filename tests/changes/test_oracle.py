"""The oracle of `diff`: what it draws from a folder, and what counts as said of a mistake and of other words."""

from __future__ import annotations

import pytest

from benchmarks.changes.outcome import outcome, told
from benchmarks.changes.pairs import Change, mistakes, rewordings

PROGRAM = """
import jax
import jax.numpy as jnp

def loss(x, y, mask):
    error = (x - y) * mask
    return jnp.mean(error, axis=-1)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "work.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_draws_are_those_of_the_seed(folder):
    for draw in (mistakes, rewordings):
        first = [str(one) for one in draw([folder], 2, [1, 2])]
        assert first
        assert first == [str(one) for one in draw([folder], 2, [1, 2])]


def test_a_mistake_is_told_at_its_place_and_other_words_are_not(folder):
    lines = frozenset({7})
    files = {"work.py": PROGRAM}
    mistake = Change("other-axis", "axes", folder, files, {"work.py": PROGRAM.replace("-1", "-2")}, lines, lines)
    assert outcome(told(mistake)) == "changed"
    elsewhere = Change(mistake.kind, mistake.family, folder, files, mistake.after, frozenset({6}), frozenset({6}))
    assert outcome(told(elsewhere)) == "silent"
    words = Change("Named", "", folder, files, {"work.py": PROGRAM.replace("error", "difference")})
    assert told(words) == []
