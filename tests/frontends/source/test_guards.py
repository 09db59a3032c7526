"""What guards tell: a test that is decided runs one side, any other both, and each side knows which it is."""

from __future__ import annotations

import pytest

from .reading import ops, shapes

_START = "import jax\nimport jax.numpy as jnp\nfrom functools import partial\n"
_DEFAULT = """
def f(x, mask=None):
    if mask is None:
        mask = jnp.ones((9,))
    result = mask * 2
    return x
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("f(jnp.ones(3), jnp.ones(2))", ["2"]),
        ("f(jnp.ones(3), mask=jnp.ones(2) > 0)", ["2"]),
        ("partial(f, mask=jnp.ones(2))(jnp.ones(3))", ["2"]),
        ("jax.jit(partial(f, mask=jnp.ones(2)))(jnp.ones(3))", ["2"]),
        ("jax.jit(f)(jnp.ones(3), jnp.ones(2))", ["2"]),
        ("jax.vmap(f)(jnp.ones(3), jnp.ones((3, 2)))", ["2"]),
        ("f(jnp.ones(3))", ["9"]),
        ("partial(f, mask=None)(jnp.ones(3))", ["9"]),
    ],
)
def test_a_default_is_made_only_where_none_is_given(call: str, expected: list[str]) -> None:
    assert shapes(_START + _DEFAULT + call) == expected


def test_a_value_that_may_be_none_enters_both_sides() -> None:
    code = "def g(m):\n    return f(jnp.ones(3), m)\n"
    (branch,) = ops(_START + _DEFAULT + code, "py.branch")
    assert [region.label for region in branch.regions] == ["then", "else"]


@pytest.mark.parametrize("turns", ["2", "n"])
def test_a_loop_may_exchange_an_array_for_none(turns: str) -> None:
    code = f"""
def g(n, c):
    x = jnp.ones(3)
    for _ in range({turns}):
        if x is None:
            found = jnp.ones(4)
        x = None if c else x
"""
    assert shapes(_START + code, "found") != []


def test_an_array_is_no_tuple() -> None:
    code = "def f(x):\n    result = x[0] if isinstance(x, tuple) else x * 2\n    return result\n"
    assert shapes(f"{_START}{code}f(jnp.ones((3, 4)))") == ["3 4"]
