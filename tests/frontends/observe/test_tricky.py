"""Mistakes that raise nothing are found in observed runs at their lines, and their correct twins are silent."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tool import report
from tricky import HEAD, PAIRS

pytest.importorskip("jax")


def run_all(folder: Path, programs: dict[str, str]) -> dict:
    """Run every program as a module of one script."""
    for name, code in programs.items():
        (folder / f"{name}.py").write_text(HEAD + code)
    (folder / "script.py").write_text("".join(f"import {name}\n" for name in programs))
    return report("run", "script.py", cwd=folder)


@pytest.fixture(scope="module")
def mistaken(tmp_path_factory) -> dict:
    return run_all(tmp_path_factory.mktemp("mistaken"), {pair.name: pair.code for pair in PAIRS})


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_mistake_is_found_where_it_is(mistaken, pair):
    marked = {number for number, line in enumerate((HEAD + pair.code).splitlines(), 1) if line.endswith("#<<")}
    found = {(one["rule"], one["line"]) for one in mistaken["issues"] if one["path"] == f"{pair.name}.py"}
    assert {(pair.rule, line) for line in marked} & found
    assert {line for _, line in found} <= marked


def test_the_correct_programs_are_silent(tmp_path):
    right = {pair.name: pair.code.replace(pair.wrong, pair.right) for pair in PAIRS}
    assert all(pair.wrong in pair.code for pair in PAIRS)
    found = run_all(tmp_path, right)
    assert [(one["path"], one["line"], one["message"]) for one in found["issues"]] == []


def test_what_stops_the_program_is_told_once(tmp_path):
    (tmp_path / "script.py").write_text(
        HEAD + "def body(c):\n    return c[0] + 1, jnp.abs(c[1] * jnp.ones(3))\n"
        "lax.while_loop(lambda c: c[0] < 3, body, (0, 1.0))\n"
    )
    found = report("run", "script.py", cwd=tmp_path)
    assert [(one["rule"], one["line"]) for one in found["issues"]] == [("carry-type-changes", 6)]
