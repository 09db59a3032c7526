"""Who calls with what: partial and keyword arguments, static receivers, and methods that a base class compiles."""

from __future__ import annotations

import pytest

from .reading import ops, shapes

_START = "import jax\nimport jax.numpy as jnp\nfrom functools import partial\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(x, *, n, y=None):\n    result = (jnp.zeros(n) if y is None else y) * 1\njax.jit(f, static_argnames='n')(jnp.ones(2), n=4)", ["4"]),
        ("def f(x, *, n, y=None):\n    result = (jnp.zeros(n) if y is None else y) * 1\njax.jit(f, static_argnames='n')(x=1., n=4, y=jnp.ones(6))", ["6"]),
        ("@jax.jit\ndef f(a, b):\n    result = a + b\nf(b=jnp.ones((2, 3)), a=jnp.ones(3))", ["2 3"]),
        ("@jax.jit\ndef f(x, **kw):\n    result = kw['m'] * 1\nf(1., **{'m': jnp.ones(7)})", ["7"]),
        ("def f(a, b):\n    result = a + b\njax.vmap(f)(jnp.ones((4, 3)), b=jnp.ones((4, 3)))", ["3"]),
        ("@partial(jax.jit, static_argnames='train')\ndef f(x, train=False, key=None):\n    if train:\n        result = jax.random.normal(key, (3,))\nf(1., train=True, key=jax.random.key(0))", ["3"]),
    ],
)  # fmt: skip
def test_keyword_arguments_reach_compiled_functions(code: str, expected: list[str]) -> None:
    assert shapes(_START + code) == expected


@pytest.mark.parametrize(
    "call",
    [
        "jax.grad(loss)(jnp.ones(3), jnp.ones(3))",
        "jax.grad(loss)(jnp.ones(3), x=jnp.ones(3), t=2.0)",
        "jax.value_and_grad(loss)(jnp.ones(3), jnp.ones(3))[1]",
        "jax.grad(loss, argnums=1)(2.0, jnp.ones(3))",
        "jax.grad(loss, argnums=(0, 1))(2.0, jnp.ones(3))[1]",
    ],
)
def test_a_gradient_has_the_shape_of_what_it_is_taken_by(call: str) -> None:
    code = "def loss(p, x, t=1.0):\n    return (p * x).sum() * t\n"
    assert shapes(f"{_START}{code}found = {call}\nresult = found * 1") == ["3"]


def test_a_receiver_can_be_static_under_pmap() -> None:
    code = """
class Trainer:
    def __init__(self, n):
        self.n = n
    @partial(jax.pmap, static_broadcasted_argnums=(0,))
    def step(self, x):
        if self.n > 2:
            result = x + jnp.zeros(self.n)
        return result
Trainer(5).step(jnp.ones((4, 5)))
"""
    assert shapes(_START + code)[-1] == "5"
    assert [op.in_axes for op in ops(_START + code, "pmap")] == [(0,)]


_BASES = """
class Base:
    def __init__(self):
        self.compiled = jax.jit(self.update)
    @partial(jax.jit, static_argnums=0)
    def step(self, x):
        return self.inner(x)
    def roll(self, x):
        return jax.lax.scan(self.body, x, None, length=3)
class Own(Base):
"""


@pytest.mark.parametrize(
    ("method", "transform"), [("inner(self, x)", "jit"), ("body(self, x, _)", "scan"), ("update(self, x)", "jit")]
)
def test_a_method_runs_as_the_base_that_it_overrides_runs_it(method: str, transform: str) -> None:
    """Also where nobody makes an instance: the base says under which transformation its methods run."""
    name = method.partition("(")[0]
    base = _BASES.replace("class Own", f"    def {method}:\n        raise NotImplementedError\nclass Own")
    found = ops(f"{_START}{base}    def {method}:\n        return x + 17\n", transform)
    assert any(op.arguments.get("y") == 17 for one in found for op in one.regions[0].walk()), name


def test_a_method_of_its_own_runs_as_it_stands() -> None:
    assert ops(f"{_START}{_BASES}    def other(self, x):\n        return x + 17\n", "pmap") == []


def test_said_shapes_give_way_to_those_of_the_caller() -> None:
    code = """
from jaxtyping import Array, Float
class Model:
    def step(self, x: Float[Array, "batch d"]):
        result = x * 1
        return result
    def many(self, xs):
        return jax.vmap(self.step)(xs)
"""
    assert shapes(f"{_START}{code}Model().many(jnp.ones((8, 3)))") == ["8 3", "3"]
    assert (
        shapes(_START + code.replace("many(self, xs)", "many(self, xs: Float[Array, 'batch d'])"))[-1] == "xs.shape[1]"
    )
