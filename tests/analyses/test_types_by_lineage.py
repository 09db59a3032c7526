"""Carries whose type is kept by the way they are made, though nothing is known of it."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PREFIX = """
import jax
import jax.numpy as jnp
import optax
from jax import lax
"""
KEPT = {
    "an update in place": "lax.scan(lambda c, x: (c.at[0].set(x), None), start, xs)",
    "a row of its keys": "lax.scan(lambda c, x: (jax.random.split(c)[0], x), start, xs)",
    "a choice that JAX demands to be alike": "lax.scan(lambda c, x: (lax.select(x > 0, c, other), x), start, xs)",
    "a loop inside": "lax.scan(lambda c, x: (lax.fori_loop(0, 3, lambda i, d: d.at[i].add(1), c), x), start, xs)",
    "a copy whose field is kept": "lax.scan(lambda c, x: (c.replace(key=jax.random.split(c.key)[0]), x), start, xs)",
    "a training state": "lax.scan(lambda c, x: (c.replace(net=c.net.apply_gradients(grads=x)), None), start, xs)",
    "mapped along its axis": "lax.scan(lambda c, x: (jax.vmap(lambda d: d.at[0].set(1))(c), x), start, xs)",
    "one of two branches": "lax.scan(lambda c, x: (lax.cond(x, lambda: c.at[0].set(1), lambda: c), x), start, xs)",
    "a number that becomes a float": "lax.scan(lambda c, x: (c + jnp.ones(()), x), 0, xs)",
    "a call": "lax.scan(lambda c, x: ((lambda d: d.at[0].set(x))(c), x), start, xs)",
}
OPEN = {
    "a sum": "lax.scan(lambda c, x: (c + x, None), start, xs)",
    "another field": "lax.scan(lambda c, x: (c.replace(key=x), x), start, xs)",
    "a constant in a map": "lax.scan(lambda c, x: (jax.vmap(lambda d: c)(c), x), start, xs)",
    "another axis": "lax.scan(lambda c, x: (jax.vmap(lambda d: d.at[0].set(1), in_axes=1)(c), x), start, xs)",
    "something else": "lax.scan(lambda c, x: (other, c), start, xs)",
    "a slice": "lax.scan(lambda c, x: (c[1:], x), start, xs)",
}


def verdicts(call: str) -> tuple[list[str], list[str]]:
    code = PREFIX + textwrap.dedent(f"def f(start, other, xs):\n    return {call}\n")
    report = audit([SourceFile("module.py", code)], Config()).report
    rule = "carry-type-changes"
    return [one.rule for one in report.verified if one.rule == rule], [u.rule for u in report.unknown if u.rule == rule]


@pytest.mark.parametrize("call", KEPT.values(), ids=KEPT)
def test_the_type_is_kept(call: str) -> None:
    proved, unknown = verdicts(call)
    assert proved
    assert not unknown


@pytest.mark.parametrize("call", OPEN.values(), ids=OPEN)
def test_the_type_stays_open(call: str) -> None:
    assert verdicts(call)[1]
