"""What containers hold: items that differ in kind are followed one by one, and what is not known is not absent."""

from __future__ import annotations

import pytest

from .reading import shapes

_START = "import jax\nimport jax.numpy as jnp\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("for m in [None, jnp.ones(3)]:\n    if m is not None:\n        result = m * 2", ["3"]),
        (
            "for f, n in [(jnp.tanh, 3), (None, 4)]:\n    result = jnp.ones(n)\n    result = result if f is None else f(result)",
            ["3", "4"],
        ),
        (
            "x = jnp.ones((2, 3))\nfor n, f in zip((4, 5), (jnp.tanh, None)):\n    x = x @ jnp.ones((x.shape[-1], n))\nresult = x * 1",
            ["2 5"],
        ),
        ("for f in [lambda x: x[0], lambda x: x[1:]]:\n    result = f(jnp.ones((3, 4)))", ["4", "2 4"]),
        ("for m in [None, jnp.ones(3)]:\n    if m is None:\n        continue\n    result = m * 2", ["3"]),
        ("for m in [jnp.ones(3), None, 1]:\n    if m is None:\n        break\n    result = m * 2", ["3"]),
        ("fs = [f(jnp.ones((3, 4))) for f in (lambda x: x[0], jnp.sum)]\nresult = fs[1] * 1", [""]),
        ("d = dict(zip(['a', 'b'], jnp.ones((2, 5))))\nresult = d['b'] * 1", ["5"]),
        ("d = dict(zip(['a', 'b'], (jnp.ones(2), jnp.ones(3))))\nresult = d['b'] * 1", ["3"]),
        ("d = {n: jnp.ones(i + 2) for i, n in enumerate(['a', 'b'])}\nresult = d['b'] * 1", ["3"]),
        (
            "ks = dict(zip(('a', 'b'), jax.random.split(jax.random.key(0))))\nresult = jax.random.normal(ks['a'], (3,))",
            ["3"],
        ),
        (
            "d = {}\nfor (n, p), k in zip({'w': jnp.ones((3, 4)), 'b': jnp.ones(4)}.items(), range(2)):\n    d[n] = p + k\nresult = d['b'] * 1",
            ["4"],
        ),
    ],
)
def test_a_few_items_of_different_kinds_are_followed_one_by_one(code: str, expected: list[str]) -> None:
    assert shapes(_START + code) == expected


def test_paths_that_leave_a_turn_early_meet_again() -> None:
    code = """
def f(c):
    x = jnp.ones(3)
    for name in ["a", "b"]:
        if c:
            continue
        x = jnp.ones((3, 4))
    found = x * 1
    return found
"""
    assert shapes(_START + code, "found") == ["?"]
