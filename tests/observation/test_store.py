"""The store of observed facts: small, deterministic, merged by script and test, and never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxaudit.frontends.forms import Sighting, has_array, sizes_apart, text_of, widened
from jaxaudit.observation import store

CODE = """\
def scale(x, by):
    return x * by


class Env:
    def step(self, state):
        return state
"""
ROW = ["array", "float32", [8, 3], ""]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "model.py"
    path.write_text(CODE)
    monkeypatch.setenv("JAXAUDIT_CACHE_DIR", str(tmp_path / "cache"))
    return path


def seen(file: Path, where: str = "train.py", rows: int = 8, calls: int = 1) -> Sighting:
    return Sighting(str(file), "scale", 1, where, {"x": ["array", "float32", [rows, 3], ""], "by": ["is", 2]}, calls)


def contexts(file: Path) -> list[tuple[list[int], dict[str, int]]]:
    known, problem = store.load(str(file))
    assert problem == ""
    return [(one.arguments["x"][2], one.seen) for one in known["scale"].contexts]


def test_what_was_seen_is_known_afterwards(file):
    store.keep([seen(file, calls=3)], now=7)
    assert contexts(file) == [([8, 3], {"train.py": 3})]


def test_the_same_run_gives_the_same_bytes(file):
    store.keep([seen(file), seen(file, rows=4)], now=7)
    place = store.place_of(str(file))
    before = place.read_bytes()
    store.keep([seen(file), seen(file, rows=4)], now=7)
    assert place.read_bytes() == before


def test_several_contexts_stay_several_and_a_test_replaces_what_it_showed_before(file):
    store.keep([seen(file, "tests/a.py::test_one")], now=1)
    store.keep([seen(file, "tests/a.py::test_two", rows=4), seen(file, "tests/a.py::test_two")], now=2)
    assert contexts(file) == [
        ([8, 3], {"tests/a.py::test_one": 1, "tests/a.py::test_two": 1}),
        ([4, 3], {"tests/a.py::test_two": 1}),
    ]
    store.keep([seen(file, "tests/a.py::test_two", rows=5)], now=3)
    assert contexts(file) == [([5, 3], {"tests/a.py::test_two": 1}), ([8, 3], {"tests/a.py::test_one": 1})]


def test_a_changed_signature_forgets_and_a_changed_body_does_not(file):
    store.keep([seen(file, "a")], now=1)
    file.write_text(CODE.replace("x * by", "x + by"))
    store.keep([seen(file, "b", rows=4)], now=2)
    assert contexts(file) == [([4, 3], {"b": 1}), ([8, 3], {"a": 1})]
    file.write_text(CODE.replace("x, by", "x, by, more"))
    store.keep([seen(file, "c", rows=5)], now=3)
    assert contexts(file) == [([5, 3], {"c": 1})]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[1, 2]", b'{"format": 1}'])
def test_a_damaged_file_is_told_in_a_sentence(file, content):
    store.keep([seen(file)], now=1)
    store.place_of(str(file)).write_bytes(content)
    known, problem = store.load(str(file))
    assert known == {}
    assert problem.startswith(f"what was observed of {file} is damaged")


def test_facts_of_another_version_or_another_file_are_not_used(file):
    store.keep([seen(file)], now=1)
    place = store.place_of(str(file))
    data = json.loads(place.read_text())
    for change in ({"format": 99}, {"path": "/elsewhere.py"}):
        place.write_text(json.dumps({**data, **change}))
        known, problem = store.load(str(file))
        assert known == {}
        assert "is of another version" in problem


def test_a_damaged_file_is_written_anew(file):
    store.keep([seen(file)], now=1)
    store.place_of(str(file)).write_bytes(b"{")
    store.keep([seen(file)], now=2)
    assert contexts(file) == [([8, 3], {"train.py": 1})]


def test_clearing_forgets_some_files_or_what_is_damaged(file):
    other = file.with_name("other.py")
    other.write_text(CODE)
    store.keep([seen(file), seen(other)], now=1)
    assert store.clear([str(file)]) == 1
    assert store.load(str(file)) == ({}, "")
    assert store.known_paths() == [str(other)]
    store.place_of(str(other)).write_bytes(b"{")
    assert store.known_paths() == []
    assert store.clear_damaged() == 1


def test_nothing_is_kept_where_there_is_no_cache(file, monkeypatch):
    monkeypatch.setenv("JAXAUDIT_CACHE_DIR", "")
    store.keep([seen(file)], now=1)
    assert store.load(str(file)) == ({}, "")
    assert store.clear([str(file)]) == 0
    assert sorted(one.name for one in file.parent.iterdir()) == ["model.py"]


def test_forms_are_told_apart_joined_and_shown():
    form = ["tuple", [ROW, ["is", 2], ["dict", [["n", ["is", 3]]]], ["object", "m", "State", "", {"t": ["is", 1]}]]]
    other = ["tuple", [ROW, ["is", 2], ["dict", [["n", ["is", 4]]]], ["object", "m", "State", "", {"t": ["is", 1]}]]]
    assert sizes_apart(form) == sizes_apart(other)
    assert text_of(widened(form, other)) == "(float32[8, 3], 2, {'n': int}, State(t=1))"
    assert has_array(form)
    assert not has_array(["list", [["is", True], ["array", "float32", [], "w"]]])
