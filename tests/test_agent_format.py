"""The report for a coding agent: its order, its bounds, the index of a project."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from page_sample import PATH, SOURCE, sample

from jaxaudit.config import Config
from jaxaudit.reports.agent_text import Block, numbers, written
from jaxaudit.reports.change import BoundaryChange, Broken, Change, ChangedFile, Reason
from jaxaudit.reports.formats.agent import render_agent
from jaxaudit.reports.model import Axis, Finding, FlowStep, FlowValue, Lead, Target, Unknown
from jaxaudit.session import audit_paths, audit_text
from jaxaudit.spans import SourceText

PROGRAM = b"""
import jax
import jax.numpy as jnp

NUM_ENVS = 8
LENGTH = 5


def step(carry, x):
    return carry + x, carry * 2


def rollout(keys):
    start = jax.vmap(lambda key: jax.random.normal(key, (3,)), out_axes=1)(keys)
    pushes = jnp.ones((LENGTH, 3, NUM_ENVS))
    last, path = jax.lax.scan(step, start, pushes)
    unread = path.mean()
    return last, path


result = rollout(jax.random.split(jax.random.key(0), NUM_ENVS))
"""


def sources(path: str) -> SourceText:
    return SourceText(path, SOURCE if path == PATH else "")


def test_a_file_is_told_in_order() -> None:
    outcome = audit_text("rollout.py", PROGRAM, Config())
    head, *middle, unknown = render_agent(outcome.report, outcome.sources).rstrip("\n").split("\n\n")
    assert head.startswith("rollout.py: No issues, 1 warning.\nRead 1 file (22 lines), entered 3 of 3 functions;")
    assert "\n\n".join(middle).splitlines() == [
        "WARNINGS (may be meant)",
        "  17 warning value-never-read: `unread` is computed here for nothing: nothing reads it",
        "    now: the value of `unread` that is computed here goes nowhere",
        "    meant: the code below goes on with it",
        "    fix: read `unread` where it was meant, or delete this line",
        "    why: 18 `path`, which it was made of, is read here",
        "",
        "BOUNDARIES",
        "  14 vmap(lambda): mapped over axis 0 key; collected along axis 1 start f32[3,8]",
        "  16 scan(step): carried carry f32[3,8]; scanned over axis 0 x f32[5,3,8]; stacked along axis 0 path f32[5,3,8]",
        "",
        "SHAPES (named values by function)",
        "  rollout: carry, start, x f32[3,NUM_ENVS]; path, pushes f32[LENGTH,3,NUM_ENVS]",
        "",
        "AXES (where each is used up or mapped)",
        "  NUM_ENVS=8: reduced on 17; vmapped on 14",
        "  LENGTH=5: reduced on 17; scanned on 16",
    ]
    assert unknown.startswith("NOT KNOWN (nothing is claimed here)\n  ")


def test_an_axis_that_nobody_named_is_told_by_its_size() -> None:
    value = FlowValue("x", "f32[4,3,2]", axes=("a", "b", "c"))
    step = FlowStep("f", "f", 0, PATH, 1, "array.map", "sin", makes=(value,))
    axes = (
        Axis("a", "batch", 4, "f", "", "declared"),
        Axis("b", "", 3, "f", ""),
        Axis("c", "vmap(g)", 2, "f", "", "vmap"),
    )
    report = replace(sample(), targets=(Target(PATH, "source"),), data_flow=(step,), axes=axes)
    assert "SHAPES (named values by function)\n  f: x f32[batch,3,2]\n" in render_agent(report, sources)


def finding(number: int) -> Finding:
    text = "`value` is used again " * 6
    return Finding(str(number), "key-reused", "random", "error", PATH, number, 1, number, 2, text, text, text)


def test_a_report_stays_below_six_thousand_characters() -> None:
    many = range(1, 300)
    report = replace(
        sample(),
        targets=(Target(PATH, "source"),),
        issues=tuple(map(finding, many)),
        warnings=tuple(replace(finding(number), severity="warning") for number in many),
        leads=tuple(Lead("unread-value", PATH, number, "`a` is bound here and never read", 6) for number in many),
        unknown=tuple(Unknown(f"rule-{number}", "flow", PATH, number, "not known " * 9) for number in many),
    )
    text = render_agent(report, sources)
    assert len(text) < 6000
    assert text.count("more: --format json has them all") == 4


def test_text_of_the_user_has_no_control_characters() -> None:
    lead = Lead("unread-value", PATH, 1, "`\x1b[31m`", 6)
    assert "\x1b" not in render_agent(replace(sample(), leads=(lead,)), sources)


def test_a_project_is_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rollout.py").write_bytes(PROGRAM)
    (tmp_path / "other.py").write_text("def scale(x, factor):\n    return x * 2\n")
    outcome = audit_paths(["."], Config())
    text = render_agent(outcome.report, outcome.sources)
    assert text.startswith("2 files: No issues, 1 warning.\n")
    assert "The facts of one file: jaxaudit check FILE --format agent" in text
    block = text.partition("READ FIRST (ranked, with the reason)\n")[2].partition("\n\n")[0]
    first, second, *_ = block.splitlines()
    assert first.startswith("  rollout.py:14 rollout: warning value-never-read; scan carries carry; ")
    assert first.endswith(" not decided")
    assert second == "  other.py:1 scale: line 1: `scale` never reads its parameter `factor`; 1 not decided"
    assert "  rollout.py rollout: vmap(lambda); scan(step)" in text
    assert "  rollout.py:16 scan(step): carried carry f32[3,8];" in text


def test_at_most_twenty_functions_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(2):
        functions = (f"def f{at}(x, p{number}{at}):\n    return x * 2\n\n" for at in range(30))
        (tmp_path / f"m{number}.py").write_text("\n".join(functions))
    outcome = audit_paths(["."], Config())
    report = replace(outcome.report, targets=(Target("m0.py", "source"), Target("m1.py", "source")))
    block = render_agent(report, outcome.sources).partition("READ FIRST")[2].partition("\n\n")[0]
    assert len(block.splitlines()) - 1 == 20


def test_a_change_is_told_by_what_it_broke() -> None:
    issue = replace(finding(3), id="one", message="`key` is used again", current="", expected="")
    change = Change(
        "HEAD (3f2c1a9)",
        "the working tree",
        files=(ChangedFile(PATH, "changed"),),
        touches_jax=True,
        reasons=(Reason(PATH, 2, "`f` uses `jax`"),),
        broken=(Broken("key-reused", "random", PATH, 3, 1, "violated", "used again", "used once", PATH, 3, "one"),),
        boundaries=(
            BoundaryChange("carry", PATH, 9, "step", "2 fields", "3 fields", "`step` carries 3 fields, not 2"),
        ),
    )
    lead = Lead("unread-value", PATH, 7, "`a` is bound here and never read", 6)
    report = replace(sample(), issues=(issue,), warnings=(), leads=(lead,), change=change)
    assert render_agent(report, sources).splitlines() == [
        "From HEAD (3f2c1a9) to the working tree: 1 Python file differs.",
        f"It touches JAX: `f` uses `jax` ({PATH}:2).",
        "1 constraint broken.",
        "",
        "CONSTRAINTS BROKEN (they held before)",
        f"  {PATH}:3 error key-reused: `key` is used again",
        "    before: used once",
        "",
        "CHANGED AT BOUNDARIES (does every caller know?)",
        f"  {PATH}:9 carry: `step` carries 3 fields, not 2",
        "",
        "WORTH A SECOND LOOK IN WHAT CHANGED (facts, no verdicts)",
        f"  {PATH}:7: `a` is bound here and never read",
    ]


def test_room_that_is_left_is_used_further_down() -> None:
    blocks = [Block("A", ["a"], 50), Block("B", ["b" * 10] * 6, 30), Block("C", ["c" * 30] * 2, 31, may_grow=False)]
    assert written(blocks) == "\n\n".join(
        ["A\na", "B\n" + "\n".join(["b" * 10] * 6), f"C\n{'c' * 30}\n  ... 1 more: --format json has them all\n"]
    )


def test_lines_are_listed_once_in_order() -> None:
    assert numbers([3, 1, 3, 2]) == "1, 2, 3"
    assert numbers(range(10), most=8) == "0, 1, 2, 3, 4, 5, 6, 7 and 2 more"
