"""Trees that have one structure by the way they are made, though nobody knows which."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

HEADER = """
import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
"""
ALIKE = {
    "fields of states alike": "def f(s):\n    t = jax.tree.map(jnp.tanh, s)\n    return JOIN(s.params, t.params)",
    "a gradient of a field": "def f(s, g):\n    d = jax.grad(g)(s.params)\n    return JOIN(s.params, d)",
    "what a loop carries": "def f(p, g):\n    q = jax.lax.fori_loop(0, 9, lambda i, c: g(c), p)\n    return JOIN(p, q)",
    "put back from one vector": "def f(p):\n    v, back = ravel_pytree(p)\n    return JOIN(p, back(2 * v))",
    "put back from leaves": "def f(p):\n    v, d = jax.tree.flatten(p)\n    return JOIN(p, jax.tree.unflatten(d, v))",
    "filtered alike": "def f(m):\n    a, _ = eqx.partition(m, eqx.is_array)\n    return JOIN(a, eqx.filter(m, eqx.is_array))",
    "both branches": "def f(p, n):\n    q = p if n else jax.tree.map(jnp.tanh, p)\n    return JOIN(p, q)",
    "trees at the leaves of the second": "def f(p):\n    q = jax.tree.map(lambda x: (x, x), p)\n    return JOIN(p, q)",
    "states of one optimizer": "def f(p):\n    tx = optax.adam(1)\n    return JOIN(tx.init(p), tx.init(p))",
}
OPEN = {
    "two arguments": "def f(p, q):\n    return JOIN(p, q)",
    "other fields": "def f(s):\n    return JOIN(s.params, s.stats)",
    "the other part": "def f(m):\n    a, b = eqx.partition(m, eqx.is_array)\n    return JOIN(a, b)",
    "trees at the leaves of the first": "def f(p):\n    q = jax.tree.map(lambda x: (x, x), p)\n    return JOIN(q, p)",
    "one branch": "def f(p, q, n):\n    r = p if n else q\n    return JOIN(p, r)",
}
OPTIMIZER = """
def momentum(decay):
    def init(params):
        return jax.tree.map(jnp.zeros_like, params), 0
    def update(updates, state, params=None):
        mean = jax.tree.map(lambda g, m: decay * m + g, updates, state[0])
        return mean, (mean, state[1] + 1)
    return optax.GradientTransformation(init, update)
"""


def verdicts(code: str) -> tuple[list[str], list[str]]:
    text = HEADER + textwrap.dedent(code.replace("JOIN(", "jax.tree.map(lambda a, b: a + b, "))
    report = audit([SourceFile("program.py", text)], Config(select=("tree-structure-mismatch",))).report
    assert not report.issues
    return [one.reason for one in report.verified], [one.reason for one in report.unknown]


@pytest.mark.parametrize("code", ALIKE.values(), ids=ALIKE)
def test_alike(code: str) -> None:
    proved, unknown = verdicts(code)
    assert proved
    assert not unknown


@pytest.mark.parametrize("code", OPEN.values(), ids=OPEN)
def test_perhaps_not_alike(code: str) -> None:
    assert verdicts(code)[1]


def test_an_optimizer_gets_the_state_that_it_made() -> None:
    assert verdicts(OPTIMIZER) == (["both trees have the structure of the same tree"], [])
