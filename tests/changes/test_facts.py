"""What is computed otherwise than before, where no rule has a verdict; what is only written otherwise is not told."""

from __future__ import annotations

import pytest

HEAD = """
import jax
import jax.numpy as jnp

"""
LOSS = """
def loss(params, x, y, mask):
    error = jnp.square(x @ params - y)
    weighted = error * mask
    return jnp.sum(weighted, axis=1).mean()
"""
STEP = """
def step(state, action, table):
    moved = state + action
    clipped = jnp.clip(moved, 0, 9)
    return clipped, jnp.where(clipped > 5, table[0], table[1])
"""
TARGET = """
def td_error(value, reward, next_value, done):
    target = jax.lax.stop_gradient(reward + 0.9 * (1.0 - done) * next_value)
    return target - value
"""
RUN = """
def run(total, xs, scales):
    def turn(carry, x):
        count, best = carry
        newer = jnp.maximum(best, x)
        return (count + x, newer), best
    return jax.lax.scan(turn, (total, total), xs)

def scaled(x, scales):
    return jax.vmap(lambda a, b: a * b, in_axes=(0, None))(x, scales)
"""


def facts_of(project, before: str, after: str) -> list[str]:
    project.commit(work=HEAD + before)
    project.write(work=HEAD + after)
    change = project.change()
    lines = (HEAD + after).lstrip("\n").splitlines()
    return [f"{one['kind']}: {one['text']} @ {lines[one['line'] - 1].strip()}" for one in change["facts"]]


@pytest.mark.parametrize(
    ("program", "old", "new", "told"),
    [
        (
            LOSS,
            "weighted = error * mask",
            "weighted = error * 2",
            "dependence: `weighted` does not depend on `mask` any more @ weighted = error * 2",
        ),
        (
            LOSS,
            "axis=1",
            "axis=0",
            "option: `axis` of `sum` is 0 now, and was 1 @ return jnp.sum(weighted, axis=0).mean()",
        ),
        (
            LOSS,
            "x @ params - y",
            "y - x @ params",
            "order: `y`, the result of `matmul` change places in `subtract` @ error = jnp.square(y - x @ params)",
        ),
        (
            STEP,
            "return clipped,",
            "return state,",
            (
                "version: what `step` gives takes `state` now, and took what `clip` makes of it @ "
                "return state, jnp.where(clipped > 5, table[0], table[1])"
            ),
        ),
        (
            STEP,
            "table[0], table[1]",
            "table[1], table[0]",
            (
                "order: result 1 of `table`, result 2 of `table` change places in `where` @ "
                "return clipped, jnp.where(clipped > 5, table[1], table[0])"
            ),
        ),
        (
            TARGET,
            "jax.lax.stop_gradient(reward + 0.9 * (1.0 - done) * next_value)",
            "reward + 0.9 * (1.0 - done) * next_value",
            (
                "version: what `td_error` gives takes the `target` from before `stop_gradient` now, and took the one after it @ "
                "target = reward + 0.9 * (1.0 - done) * next_value"
            ),
        ),
        (
            TARGET,
            "(1.0 - done)",
            "done",
            (
                "version: `target` takes `done` now, and took what `subtract` makes of it @ "
                "target = jax.lax.stop_gradient(reward + 0.9 * done * next_value)"
            ),
        ),
        (
            RUN,
            "(count + x, newer)",
            "(count + x, best)",
            (
                "version: `total` takes the `total` from before `maximum` now, and took the one after it @ "
                "return (count + x, best), best"
            ),
        ),
    ],
)
def test_a_fact_that_differs_is_told_at_the_line_that_was_changed(project, program, old, new, told):
    assert facts_of(project, program, program.replace(old, new)) == [told]


def test_what_a_boundary_tells_is_not_told_again(project):
    change = RUN.replace("in_axes=(0, None)", "in_axes=(0, 0)")
    assert facts_of(project, RUN, change) == []
    assert [one["kind"] for one in project.change()["boundaries"]] == ["mapping"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LOSS, LOSS.replace("weighted", "w").replace("mask", "keep").replace("error * keep", "keep * error")),
        (LOSS, LOSS.replace("jnp.square(x @ params - y)", "(jnp.matmul(x, params) - y) ** 2")),
        (
            LOSS,
            "def squared(a, b):\n    return jnp.square(a - b)\n"
            + LOSS.replace("jnp.square(x @ params - y)", "squared(x @ params, y)"),
        ),
        (STEP, STEP.replace("clipped > 5, table[0], table[1]", "~(5 < clipped), table[1], table[0]")),
        (STEP, STEP.replace("moved = state + action", "box = {'at': state + action}\n    moved = box['at']")),
        (STEP, STEP.replace("table[0], table[1]", "first, second").replace("    moved", "    first, second = table[0], table[1]\n    moved")),
        (RUN, RUN.replace("count, best = carry", "count = carry[0]\n        best = carry[1]")),
        (TARGET, TARGET.replace("0.9", "0.99")),
    ],
)  # fmt: skip
def test_other_words_are_silent(project, before, after):
    assert facts_of(project, before, after) == []


def test_an_answer_that_was_kept_has_the_same_facts(project, monkeypatch, tmp_path):
    monkeypatch.setenv("JAXAUDIT_CACHE_DIR", str(tmp_path / "answers"))
    first = facts_of(project, LOSS, LOSS.replace("axis=1", "axis=0"))
    assert first
    assert [one["text"] for one in project.change()["facts"]] == ["`axis` of `sum` is 0 now, and was 1"]


def test_the_text_has_a_section_and_exits_with_0(project):
    project.commit(work=HEAD + LOSS)
    project.write(work=HEAD + LOSS.replace("axis=1", "axis=0"))
    done = project.run()
    assert done.exit_code == 0
    assert "Computed Otherwise" in done.output
    assert "  work.py:8  option  `axis` of `sum` is 0 now, and was 1\n" in done.output
