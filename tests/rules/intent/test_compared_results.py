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


EVALUATION = """
import jax
import jax.numpy as jnp

def predict(weights, points, key, count):
    keys = jax.random.split(key, count)
    values = jax.vmap(lambda k: points @ (weights + jax.random.normal(k, weights.shape)))(keys)
    return values.mean(0), values.std(0)

def error(mean, truth):
    return jnp.mean((mean - truth) ** 2)

def main(weights, near, far, truth, key):
    mean, spread = predict(weights, near, key, 64)
    _, other = predict(weights, far, key, 64)
    {}

main(jnp.zeros(4), jnp.ones((30, 4)), jnp.ones((2, 4)), jnp.ones(30), jax.random.key(0))
"""


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (
            'print(float(error(mean, truth)))\n    print("near", float(spread.mean()), "far", float(other.mean()))',
            "warning",
        ),
        ('print(f"{float(error(mean, truth))} {float(other.mean())}")', "warning"),
        ("return spread.mean() + other.mean()", "error"),
        ("return weights * error(mean, truth) * other.mean()", "error"),
    ],
)
def test_results_that_are_only_reported_side_by_side(end, expected):
    report = audit([SourceFile("keys.py", EVALUATION.format(end))], Config(select=("key-reused",))).report
    assert [one.severity for one in (*report.issues, *report.warnings)] == [expected]


NESTED = """
import jax
import jax.numpy as jnp

def act(weights, state, key):
    return state @ weights + jax.random.normal(key, (3,))

def draws(weights, points, key):
    def one(k{more}):
        {body}
        return jax.vmap(act, (None, 0, None))(weights, {states}, k)
    return jax.vmap(one)(jax.random.split(key, 8){given})

draws(jnp.zeros((4, 3)), jnp.ones((8, 2, 4)), jax.random.key(0))
"""


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"more": "", "body": "...", "states": "points[0]", "given": ""}, "warning"),
        ({"more": ", states", "body": "...", "states": "states", "given": ", points"}, "error"),
        (
            {
                "more": "",
                "body": "k, start = jax.random.split(k); states = jax.random.normal(start, (2, 4))",
                "states": "states",
                "given": "",
            },
            "error",
        ),
    ],
)
def test_one_draw_for_all_points_of_a_map_over_keys(parts, expected):
    """Members that have states of their own share the numbers of no draw."""
    found = audit([SourceFile("keys.py", NESTED.format(**parts))], Config(select=("same-key-across-vmap",))).report
    assert [one.severity for one in (*found.issues, *found.warnings)] == [expected]


ALTERNATIVES = """
import jax
import jax.numpy as jnp

def wide(key):
    return jax.random.normal(key, (9, 3))

def tall(key):
    return jax.random.uniform(key, (3, 9))

class Net:
    def __init__(self, make, key):
        first, second = jax.random.split(key)
        self.layers = make(first), make(second)

def build(key, names):
    kinds = {{"wide": wide, "tall": tall}}
    return {}
"""


@pytest.mark.parametrize(
    ("made", "severity"),
    [
        ("{name: Net(kind, key) for name, kind in kinds.items()}", "warning"),
        ("{name: Net(kinds[name], key) for name in names}", "warning"),
        ("{name: Net(wide, key) for name in names}", "error"),
        ("[Net(wide, key), *(Net(tall, key) for _ in range(3))]", "error"),
    ],
)
def test_turns_that_choose_what_draws(made: str, severity: str) -> None:
    report = audit([SourceFile("keys.py", ALTERNATIVES.format(made))], Config(select=("same-key-in-loop",))).report
    assert [one.severity for one in (*report.issues, *report.warnings)] == [severity]


SEARCH = """
import jax
import jax.numpy as jnp

class Scale:
    def __init__(self, size):
        self.size = size

    def __call__(self, x):
        return x / self.size

def score(key, weights, scale):
    return jnp.mean(scale(jax.random.normal(key, (8, 3))) @ weights)

def search(key, weights, scale):
    above = score(key, weights + 0.1, scale)
    below = score(key, weights - 0.1, scale)
    return weights + above - below, Scale(scale.size + {})

def main(key):
    weights, scale = jnp.ones(3), Scale(jnp.ones(3))
    for k in jax.random.split(key, 5):
        weights, scale = search(k, weights, scale)
    return weights

main(jax.random.key(0))
"""


@pytest.mark.parametrize("renewed", ["above", "1.0"])
def test_what_a_loop_brings_round_in_an_object_keeps_two_results_apart(renewed):
    report = audit([SourceFile("search.py", SEARCH.format(renewed))], Config(select=("key-reused",))).report
    assert report.issues == ()
    (found,) = report.warnings
    assert "both results are compared with each other" in found.current
