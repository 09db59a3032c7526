"""The comparison of snapshots: each finding that comes or goes is a line, and so is each number of verdicts."""

from __future__ import annotations

from pathlib import Path

from benchmarks.snapshot import compare, differences, read, take

REUSED = """\
import jax

key = jax.random.key(0)
a = jax.random.normal(key)
b = jax.random.normal(key)
"""


def test_what_changed_is_told_line_by_line(tmp_path: Path, capsys):
    program = tmp_path / "program.py"
    program.write_text(REUSED)
    take(tmp_path / "old.json", [program])
    old = read(tmp_path / "old.json")
    assert compare(old, old) == 0
    program.write_text(REUSED.replace("b = jax.random.normal(key)", "b = jax.random.normal(jax.random.key(1))"))
    take(tmp_path / "new.json", [program])
    new = read(tmp_path / "new.json")
    assert list(differences(old, new)) == [
        "program.py - program.py:5 warning key-reused: `key` is used again: `normal` drew from it on line 4",
        "program.py key-reused: proved 1 -> 2",
    ]
    assert compare(old, new) == 1
    assert "1 paths" in capsys.readouterr().out


def test_a_path_that_only_one_holds_is_no_difference(capsys):
    empty = {"findings": [], "verdicts": {"proved": {}, "unknown": {}}, "faults": [], "seconds": 1.0}
    assert compare({"a": empty, "b": empty}, {"b": empty}) == 0
    assert "a is only in the old snapshot" in capsys.readouterr().out


def test_a_crash_is_a_difference():
    empty = {"findings": [], "verdicts": {"proved": {}, "unknown": {}}, "faults": [], "seconds": 1.0}
    assert list(differences({"a": empty}, {"a": {"crash": "boom"}})) == ["a crash: 'none' -> 'boom'"]
