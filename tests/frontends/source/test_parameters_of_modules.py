"""What a linen module makes with a function of its own: a parameter has the shape of what that function gives."""

from __future__ import annotations

import pytest

from .reading import shapes

_MODULE = """
import jax
import jax.numpy as jnp
import flax.linen as nn

class Net(nn.Module):
    n: int = 4
    @nn.compact
    def __call__(self, x):
        made = {made}
        result = {read}
        return result
    def make(self, key, k):
        return jax.random.normal(key, (k, self.n))

Net().apply({}, jnp.ones(3))
"""


@pytest.mark.parametrize(
    ("made", "read", "expected"),
    [
        ("self.param('w', lambda key, shape: jnp.zeros(shape), (self.n, 3))", "made * 2", "4 3"),
        ("self.param('w', self.make, 5)", "made * 2", "5 4"),
        ("self.param('w', lambda key: 1.0)", "made * x", "3"),
        ("self.param('w', lambda key: {'a': jax.random.normal(key, (3, 2)), 'b': 0})", "made['a'] + made['b']", "3 2"),
        ("self.variable('s', 'w', lambda: jnp.ones((2, self.n)))", "made.value + 1", "2 4"),
        ("self.param('w', nn.initializers.zeros, (self.n,))", "made * 2", "4"),
    ],
)
def test_a_parameter_is_like_what_its_function_makes(made: str, read: str, expected: str) -> None:
    assert shapes(_MODULE.replace("{made}", made).replace("{read}", read)) == [expected]


def test_the_number_that_a_parameter_starts_with_is_not_its_value() -> None:
    code = _MODULE.replace("{made}", "self.param('n', lambda key: 7)").replace("{read}", "jnp.ones(3)[made]")
    assert shapes(code) == [""]
