"""What `diff` says, word by word, and in every format."""

from __future__ import annotations

import json

import msgspec
import pytest

from jaxaudit.reports.formats.json import make_schema, shipped_schema
from jaxaudit.reports.model import Report
from jaxaudit.reports.registry import format_names

BEFORE = """
    import jax
    import jax.numpy as jnp


    def noise(key, x):
        first, second = jax.random.split(key)
        return x + jax.random.normal(first, x.shape) * jax.random.uniform(second, x.shape)


    def step(carry, x):
        key, total = carry
        key, sub = jax.random.split(key)
        return (key, total + noise(sub, x)), total


    @jax.jit
    def run(key, xs):
        return jax.lax.scan(step, (key, jnp.zeros(3)), xs)
"""
AFTER = (
    BEFORE.replace("uniform(second", "uniform(first")
    .replace("key, total = carry", "key, total, count = carry")
    .replace("return (key, total + noise(sub, x)), total", "return (key, total + noise(sub, x), count + 1), total")
    .replace("(key, jnp.zeros(3))", "(key, jnp.zeros(3), 0)")
)

TEXT = """\
From HEAD (COMMIT) to the working tree: 1 Python file differs.
It touches JAX: `noise` uses `jax` (work.py:6), `step` uses `jax` (work.py:12), and 1 more.

── Constraints Broken ──────────────────────────────────────────────────────────
work.py:7:52  error  key-reused
`first` is used again: `normal` drew from it on line 7

  7 │ return x + jax.random.normal(first, x.shape) * jax.random.uniform(first, x.shape)
    │                                                ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━

  was:   `second` is row 1 of the split on line 6, and no other use on its path has that row
"""


@pytest.fixture
def changed(project):
    project.commit(work=BEFORE)
    project.write(work=AFTER)
    return project


def test_the_text(changed):
    done = changed.run()
    commit = changed.git("rev-parse", "--short=7", "HEAD").strip()
    assert done.stdout.replace(commit, "COMMIT").startswith(TEXT)
    assert done.stdout.endswith(
        "── Changed At Boundaries ───────────────────────────────────────────────────────\n"
        "  work.py:18  carry  the carry of `scan(step)` gained `count`\n\n"
        "1 constraint broken.\n"
    )
    assert done.exit_code == 1
    assert changed.run("--exit-zero").exit_code == 0


def test_one_line_each(changed):
    said = "work.py:7:52: error[key-reused] `first` is used again: `normal` drew from it on line 7\n"
    assert changed.run("-q").stdout == said


def test_all_sections(changed):
    said = changed.run("-v").stdout
    assert said.index("Constraints Broken") < said.index("End-to-End Data Flow") < said.index("Coverage")


@pytest.mark.parametrize("name", format_names())
def test_every_format_tells_what_is_broken(changed, name):
    done = changed.run("--format", name)
    assert done.exit_code == 1
    assert "key-reused" in done.stdout


def test_json_fits_its_schema(changed):
    report = msgspec.json.decode(changed.run("--format", "json").stdout, type=Report)
    assert report.change is not None
    assert [one.rule for one in report.issues] == ["key-reused"]
    assert shipped_schema() == make_schema()


def test_markdown(changed):
    said = changed.run("--format", "markdown").stdout
    assert said.startswith("# jaxaudit: 1 constraint broken\n\nFrom HEAD (")
    assert "- before: `second` is row 1 of the split on line 6" in said


def test_sarif_has_what_the_change_brought(changed):
    (run,) = json.loads(changed.run("--format", "sarif").stdout)["runs"]
    assert [one["ruleId"] for one in run["results"]] == ["key-reused"]


def test_what_touches_no_jax(project):
    project.commit(words="def title(x):\n    return str(x)\n")
    project.write(words="def title(x):\n    return repr(x)\n")
    assert project.run("--if-jax").stdout.splitlines()[1:] == [
        "It does not touch JAX: neither what differs nor what uses it computes with JAX.",
        "",
        "Nothing is broken.",
    ]


def test_nothing_differs(project):
    project.commit(words="x = 1\n")
    assert project.run().stdout.splitlines()[0].endswith("to the working tree: no Python file differs.")


BOUNDARIES = {
    "carry": (
        ("(key, total + x), x", "(key, total + x, n + 1), x"),
        ("key, total = carry", "key, total, n = carry"),
        ("(key, jnp.zeros(3))", "(key, jnp.zeros(3), 0)"),
        "the carry of `scan(step)` gained `n`",
    ),
    "axis": (
        ("in_axes=(0, None)", "in_axes=(1, None)"),
        "`x` of `vmap(scale)` is mapped over axis 1 now, and was mapped over axis 0",
    ),
    "mapping": (
        ("in_axes=(0, None)", "in_axes=(0, 0)"),
        "`y` of `vmap(scale)` is mapped over axis 0 now, and was shared by all",
    ),
    "results": (("return low, high", "return low, high, low"), "`ends` returns 3 values now, and returned 2 values"),
    "parameters": (("def ends(x)", "def ends(x, y=1)"), "`ends` takes `y` too now"),
    "static": (("static_argnames='n'", "static_argnames=()"), "`n` of `jit(repeat)` is traced now, and was static"),
    "keys": (
        (
            "return jax.random.normal(key)",
            "a, b = jax.random.split(key)\n        return jax.random.normal(a) * jax.random.normal(b)",
        ),
        "`draw` uses a random key 2 times more than before",
    ),
    "type": (("jnp.zeros(3)", "jnp.zeros(3, jnp.int32)"), "`total` is i32[3] inside `scan(step)` now, and was f32[3]"),
}

PROGRAM = """
    import jax
    import jax.numpy as jnp
    from functools import partial

    def step(carry, x):
        key, total = carry
        return (key, total + x), x

    def run(key, xs):
        return jax.lax.scan(step, (key, jnp.zeros(3)), xs)

    def scale(x, y):
        return x * y

    def scaled(xs):
        return jax.vmap(scale, in_axes=(0, None))(jnp.ones((4, 4)), jnp.ones(4))

    def ends(x):
        low, high = x.min(), x.max()
        return low, high

    @partial(jax.jit, static_argnames='n')
    def repeat(x, n):
        return x * n

    def twice(x):
        return repeat(x, n=2)

    def draw(key):
        return jax.random.normal(key)
"""


@pytest.mark.parametrize("kind", BOUNDARIES)
def test_what_changed_at_boundaries(project, kind):
    *edits, told = BOUNDARIES[kind]
    text = PROGRAM
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    project.commit(work=PROGRAM)
    project.write(work=text)
    found = project.change()["boundaries"]
    assert (kind, told) in [(one["kind"], one["text"]) for one in found]


def test_options_that_a_function_is_given_are_not_otherwise(project):
    text = """
        import jax

        def walk(step, start, xs, reverse):
            return jax.lax.scan(step, start, xs, reverse=reverse)
    """
    project.commit(work=text)
    project.write(work="\n        import math\n\n        SIZE = math.floor(3.5)\n" + text)
    assert project.change()["boundaries"] == []
