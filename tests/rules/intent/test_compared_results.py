"""Evidence of purpose says what the code does with two results of one key, and not the opposite."""

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

CODE = """
import jax
import jax.numpy as jnp

def make(key):
    return jax.random.normal(key, (3,)) * 2

def check(key):
    a = jax.random.normal(key, (3,))
    b = jax.random.normal(key, (3,))
    return {}
"""


@pytest.mark.parametrize("compared", ["a == b", "jnp.allclose(a, b)", "a != b"])
def test_results_that_are_compared(compared):
    report = audit([SourceFile("keys.py", CODE.format(compared))], Config(select=("key-reused",))).report
    assert report.issues == ()
    (found,) = report.warnings
    assert "both results are compared with each other" in found.current
