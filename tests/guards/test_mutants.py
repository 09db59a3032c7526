"""The operators of the mutants: what each one does to a line, and that lines stay where they are."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from benchmarks.mutants.__main__ import Mutant, outcome
from benchmarks.mutants.edits import File
from benchmarks.mutants.operators import OPERATORS

BY_NAME = {operator.name: operator for operator in OPERATORS}
CASES = {
    "reuse-key": ("def f(key):\n k1, k2 = split(key)\n a = normal(k2)\n return a + normal(k1)", " a = normal(k1)"),
    "keep-old-key": ("def f(key):\n key, sub = split(key)\n return key, sub", " _unused, sub = split(key)"),
    "flip-in-axes": ("g = jax.vmap(f, in_axes=(0, None))", "g = jax.vmap(f, in_axes=(None, None))"),
    "wrong-argnums": ("def loss(a, b): ...\ng = jax.grad(loss)(x, y)", "g = jax.grad(loss, argnums=1)(x, y)"),
    "drop-stop-gradient": ("y = lax.stop_gradient(x + 1) * 2", "y = (x + 1) * 2"),
    "drop-optimizer-state": ("def f(g, s):\n u, new = tx.update(g, s)\n return u, new", " return u, s"),
    "drop-state": ("def f(s):\n o, s = step(s)\n return o, s", " o, _unused = step(s)"),
    "other-axis": ("y = jnp.mean(x, axis=-1)", "y = jnp.mean(x, axis=-2)"),
    "uneven-slices": ("def f(x):\n return x[1:] - x[:-1]", " return x[1:] - x[:]"),
    "forward-scan": ("y = lax.scan(f, 0, xs, reverse=True)", "y = lax.scan(f, 0, xs, reverse=False)"),
    "swap-carry": ("def body(c, x):\n return c + x, c\nlax.scan(body, 0, xs)", " return c, c + x"),
    "no-static-argument": ("g = jax.jit(f, static_argnums=0)", "g = jax.jit(f, inline=False)"),
    "branch-in-python": ("@jax.jit\ndef f(x):\n return jnp.where(x > 0, x, 0)", " return ((x) if x > 0 else (0))"),
    "unguarded-log": ("y = jnp.log(x + 1e-8)", "y = jnp.log((x))"),
    "ignore-done": ("y = r + g * v * (1 - done)", "y = r + (g * v)"),
    "no-mean-over-devices": ('g = lax.pmean(g, axis_name="i")', "g = (g)"),
}


def test_every_operator_is_shown():
    assert CASES.keys() == BY_NAME.keys()


@pytest.mark.parametrize("name", CASES)
def test_an_operator_changes_one_line(name):
    text, expected = CASES[name]
    file = File("program.py", text)
    edit = next(BY_NAME[name].edits(file))
    changed = [new for old, new in zip(text.split("\n"), file.edited(edit).split("\n"), strict=True) if old != new]
    assert changed == [expected]


def test_lines_stay_where_they_are():
    text = "y = lax.stop_gradient(\n    x +\n    1\n)\nz = y\n"
    file = File("program.py", text)
    edited = file.edited(next(BY_NAME["drop-stop-gradient"].edits(file)))
    assert edited.split("\n").index("z = y") == 4
    compile(edited, "program.py", "exec")


def test_an_error_that_the_mistake_makes_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    code = """
    import jax

    def f(key):
        a_key, b_key = jax.random.split(key)
        b = jax.random.normal(b_key)
        return b + jax.random.normal(a_key)
    """
    file = File("program.py", textwrap.dedent(code))
    operator = BY_NAME["reuse-key"]
    kind, why = outcome(Mutant(operator, tmp_path, file, next(operator.edits(file))))
    assert kind == "error"
    assert why.startswith("key-reused at line 7")
