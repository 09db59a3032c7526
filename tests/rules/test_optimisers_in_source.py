"""What rules say about the steps of optimizers whose trees are known, whatever the variables are called."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

HEADER = """
import jax, jax.numpy as jnp, optax
tx = optax.adamw(1e-3)
def start(key):
    return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
def loss(p, x):
    return jnp.sum((x @ p["w"] + p["b"]) ** 2)
"""
USE = """
p = start(jax.random.key(0))
s = tx.init(p)
for _ in range(3):
    p, s = step(p, s, jnp.ones((16, 4)))
print(p)
"""


def found(code: str) -> list[tuple[str, str]]:
    text = HEADER + textwrap.dedent(code)
    report = audit([SourceFile("program.py", text)], Config()).report
    return [(one.rule, text.splitlines()[one.line - 1].strip()) for one in report.issues]


def stepped(update: str, apply: str = "optax.apply_updates(p, u)", out: str = "n, t") -> list[tuple[str, str]]:
    lines = ["def step(p, s, x):", "    g = jax.grad(loss)(p, x)", f"    u, t = {update}", f"    n = {apply}"]
    return found("\n".join([*lines, f"    return {out}", ""]) + USE)


def test_a_step_in_order_is_silent():
    assert stepped("tx.update(g, s, p)") == []


@pytest.mark.parametrize("update", ["tx.update(p, s, g)", "tx.update(g, p, s)", "tx.update(p, g, s)"])
def test_arguments_in_each_others_place(update):
    assert ("swapped-arguments", f"u, t = {update}") in stepped(update)


@pytest.mark.parametrize(
    ("out", "apply", "line"),
    [
        ("n, s", "optax.apply_updates(p, u)", "u, t = tx.update(g, s, p)"),
        ("p, t", "optax.apply_updates(p, u)", "n = optax.apply_updates(p, u)"),
        ("n, t", "optax.apply_updates(p, g)", "u, t = tx.update(g, s, p)"),
    ],
)
def test_what_was_made_and_never_read(out, apply, line):
    assert stepped("tx.update(g, s, p)", apply, out) == [("stale-value", line)]


def test_updates_of_another_tree():
    code = """
    def step(p, x):
        other = {"w": jnp.zeros((4, 8))}
        u, s = tx.update(jax.grad(loss)(p, x), tx.init(p), p)
        return optax.apply_updates(other, u), s
    step(start(jax.random.key(0)), jnp.ones((16, 4)))
    """
    assert found(code) == [("tree-structure-mismatch", "return optax.apply_updates(other, u), s")]


def test_a_state_that_was_made_for_another_tree():
    code = """
    def step(p, x):
        s = tx.init({"w": p["w"]})
        u, s = tx.update(jax.grad(loss)(p, x), s, p)
        return optax.apply_updates(p, u), s
    step(start(jax.random.key(0)), jnp.ones((16, 4)))
    """
    assert found(code) == [("tree-structure-mismatch", "u, s = tx.update(jax.grad(loss)(p, x), s, p)")]


def test_new_parameters_have_the_shapes_of_the_old_ones():
    code = """
    def train(p, xs):
        def body(carry, x):
            p, s = carry
            u, s = tx.update(jax.grad(loss)(p, x), s, p)
            p = optax.apply_updates(p, u)
            return ({**p, "b": p["b"][None]}, s), loss(p, x)
        return jax.lax.scan(body, (p, tx.init(p)), xs)
    train(start(jax.random.key(0)), jnp.ones((5, 16, 4)))
    """
    assert [rule for rule, _ in found(code)] == ["carry-type-changes"]
