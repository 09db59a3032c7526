"""Arrays of unknown rank that have one shape: what is computed element by element of one of them fits all of them."""

from __future__ import annotations

import pytest

from jaxaudit.config import Config
from jaxaudit.discover import decode_file
from jaxaudit.session import audit

PROGRAM = """
import jax.numpy as jnp


def f(x, y):
    a = jnp.tanh(x)
    return {expression}
"""


def verdict(expression: str, rule: str) -> str:
    report = audit([decode_file("example.py", PROGRAM.format(expression=expression).encode())], Config()).report
    if any(one.rule == rule and one.line == 7 for one in report.unknown):
        return "unknown"
    return "proved" if any(one.rule == rule and one.line == 7 for one in report.verified) else "none"


@pytest.mark.parametrize("rule", ["axis-conflict", "silent-broadcast"])
@pytest.mark.parametrize(
    "expression", ["a * x", "jnp.where(x > 0, a, 0.0)", "a.astype(jnp.float32) - 2 * x", "jnp.zeros_like(a) + x"]
)
def test_what_is_computed_of_an_array_fits_it(expression, rule):
    assert verdict(expression, rule) == "proved"


@pytest.mark.parametrize("rule", ["axis-conflict", "silent-broadcast"])
@pytest.mark.parametrize(
    "expression", ["a * y", "a * y.sum(axis=0)", "a + jnp.zeros_like(x, shape=(3,))", "a * x[0]", "a + x.T"]
)
def test_what_may_have_another_shape_is_open(expression, rule):
    assert verdict(expression, rule) == "unknown"


def test_what_is_left_of_an_array_fits_its_last_axes_whether_or_not_that_is_meant():
    assert verdict("a * x.sum(axis=0)", "axis-conflict") == "proved"
    assert verdict("a * x.sum(axis=0)", "silent-broadcast") == "unknown"
