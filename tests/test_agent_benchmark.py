"""The measurement of readers: sets that do not give themselves away, and scores that count what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.agents.layout import evenly, main
from benchmarks.agents.programs import Program
from benchmarks.agents.score import MalformedError, scored
from benchmarks.agents.score import main as score_main

BAD = "import jax\n\n\ndef f(x):\n    return x - 1  #<<\n"
GOOD = "import jax\n\n\ndef f(x):\n    return x + 1\n"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    for number in range(6):
        folder = tmp_path / "cases" / f"F{number}-thing"
        folder.mkdir(parents=True)
        (folder / "bad.py").write_text(BAD)
        (folder / "good.py").write_text(GOOD)
    lure = tmp_path / "cases" / "F9-lure"
    lure.mkdir()
    (lure / "good.py").write_text(GOOD)
    return tmp_path / "cases"


def test_a_set_shows_neither_marks_nor_names_and_one_program_a_case(cases: Path, tmp_path: Path) -> None:
    key = tmp_path / "key.json"
    assert main([str(tmp_path / "set"), "--key", str(key), "--cases", str(cases)]) == 0
    laid = sorted((tmp_path / "set").iterdir())
    rows = json.loads(key.read_text())["programs"]
    assert [one.name for one in laid] == [f"p{number:03}.py" for number in range(1, 8)]
    assert not any("#<<" in one.read_text() for one in laid)
    assert sorted(row["lines"] for row in rows.values()) == [[], [], [], [5], [5], [5], [5]]
    origins = [row["origin"].partition("/")[0] for row in rows.values()]
    assert len(set(origins)) == len(origins)


def test_the_key_is_refused_where_the_reader_looks(
    cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inside = tmp_path / "set" / "key.json"
    assert main([str(tmp_path / "set"), "--key", str(inside), "--cases", str(cases)]) == 2
    assert capsys.readouterr().err == "the key must not lie where the reader looks\n"


def test_a_project_is_copied_with_its_mistakes(tmp_path: Path) -> None:
    project = tmp_path / "small"
    project.mkdir()
    body = "import jax\n\n\ndef f(key, x):\n    key, sub = jax.random.split(key)\n"
    body += "    x = x + jax.random.normal(sub)\n    return x + jax.random.normal(key)\n"
    (project / "a.py").write_text(body)
    assert main([str(tmp_path / "set"), "--key", str(tmp_path / "key.json"), "--project", str(project)]) == 0
    [(name, row)] = json.loads((tmp_path / "key.json").read_text())["programs"].items()
    assert (name, row["path"]) == ("small#1", "small/a.py")
    changed = (tmp_path / "set" / "small" / "a.py").read_text().split("\n")
    assert [at for at, line in enumerate(body.split("\n"), 1) if line != changed[at - 1]] == row["lines"]


def test_programs_are_taken_in_turn() -> None:
    first, second = [Program("a", ""), Program("b", "")], [Program("c", "")]
    assert [one.origin for one in evenly([first, second], 5)] == ["a", "c", "b"]


KEY = {
    "p001": {"origin": "x", "kind": "F3", "lines": [10, 20]},
    "p002": {"origin": "y", "kind": "", "lines": []},
    "p003": {"origin": "z", "kind": "A1", "lines": [5]},
    "big#1": {"origin": "big/a.py:3", "kind": "drop", "path": "big/a.py", "lines": [3]},
    "big#2": {"origin": "big/b.py:9", "kind": "swap", "path": "big/b.py", "lines": [9]},
}


def test_a_finding_counts_within_two_lines_of_the_mistake() -> None:
    answers = {
        "p001": {"line": 22, "why": "close"},
        "p002": {"line": 4, "why": "there is nothing"},
        "big": [{"path": "big/a.py", "line": 3, "why": "so"}, {"path": "big/a.py", "line": 90, "why": "no"}],
    }
    score = scored(KEY, {"reader": "r", "characters": 100, "answers": answers})
    assert score.found == {"p001", "big#1"}
    assert score.missed == {"big#2"}
    assert score.unanswered == {"p003"}
    assert (score.false_on_wrong, score.false_on_right) == (1, 1)
    assert (score.characters, score.seconds) == (100, None)


def test_three_lines_away_is_another_place() -> None:
    score = scored(KEY, {"answers": {"p003": {"line": 8, "why": "far"}, "p002": "no bug"}})
    assert (score.missed, score.false_on_wrong, score.false_on_right) == ({"p003"}, 1, 0)


def test_an_answer_of_another_form_is_refused() -> None:
    with pytest.raises(MalformedError, match='the answer for `p001` is neither "no bug" nor a line and a sentence'):
        scored(KEY, {"answers": {"p001": "line 3"}})
    with pytest.raises(MalformedError, match="there is no program `p009`"):
        scored(KEY, {"answers": {"p009": "no bug"}})


def test_the_table_says_who_found_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "key.json").write_text(json.dumps({"programs": KEY}))
    for name, line in (("plain", 1), ("bundle", 5)):
        told = {"reader": name, "answers": {"p003": {"line": line, "why": ""}, "p001": "no bug"}}
        (tmp_path / f"{name}.json").write_text(json.dumps(told))
    assert score_main([str(tmp_path / name) for name in ("key.json", "plain.json", "bundle.json")]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[2:4] == ["| plain | 0 of 4 | 1 | 0 | 3 | - | - |", "| bundle | 1 of 4 | 0 | 0 | 3 | - | - |"]
    assert shown[-1] == "nobody found: big#1 (drop), big#2 (swap), p001 (F3)"
    assert "bundle alone found: p003 (A1)" in shown
