"""Arrays of unknown rank: what holds for every number of axes is known, and nothing else."""

from __future__ import annotations

import pytest

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import named
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.solve import provide
from jaxaudit.config import Config
from jaxaudit.discover import decode_file, loader
from jaxaudit.frontends.source.read import read_source
from jaxaudit.session import audit

HEAD = "import jax\nimport jax.numpy as jnp\nfrom flax import linen as nn\n\n\ndef f(x, y, w, key, h):\n"


def solved(text: str) -> Facts:
    files = [decode_file("example.py", text.encode())]
    facts = Facts(read_source(files, loader(files)).program)
    provide(facts, (Shapes,))
    return facts


def shape(expression: str) -> str:
    """Write the shape of an expression of `x`, of which nothing is known."""
    return shape_in(f"{HEAD}    return jnp.copy({expression})\n")


def shape_in(text: str) -> str:
    """Write the shape of what is copied."""
    facts = solved(text)
    op = next(op for op in facts.program.walk() if op.function == "copy")
    fact = named(facts.get(Shapes).of(op.operands[0]), op.operands[0])
    return str(fact.outline or fact)


def fits(expression: str) -> list[Fit]:
    facts = solved(f"{HEAD}    return {expression}\n")
    last = list(facts.program.walk())[-2]
    return list(facts.get(Shapes).fits(last))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("jnp.mean(x, axis=-1, keepdims=True)", "(..., 1)"),
        ("jnp.swapaxes(x, -1, -2)", "(..., x.shape[-1], x.shape[-2])"),
        ("x[..., None]", "(..., 1)"),
        ("x[None, :, 0]", "(1, x.shape[0], ...)"),
        ("x[:, None, 1:]", "(x.shape[0], 1, x.shape[1] - 1, ...)"),
        ("jnp.expand_dims(x, -2)", "(..., 1, x.shape[-1])"),
        ("jnp.concatenate([x, jnp.sin(x)], axis=-1)", "(..., 2*x.shape[-1])"),
        ("jnp.stack([x, x], axis=-1)", "(..., 2)"),
        ("jnp.split(x, 2, axis=-1)[0]", "(..., (x.shape[-1])//(2))"),
        ("x.reshape(*x.shape[:-1], h, -1)", "(..., h, (x.shape[-1])//(h))"),
        ("jnp.zeros(x.shape[:-1] + (3,))", "(..., 3)"),
        ("jnp.ones((2, *x.shape))", "(2, ...)"),
        ("x @ jnp.ones((4, 3))", "(..., 3)"),
        ("jnp.einsum('...i,ij->...j', x, jnp.ones((4, 3)))", "(..., 3)"),
        ("nn.Dense(7)(x)", "(..., 7)"),
        ("nn.Embed(10, 5)(x)", "(..., 5)"),
        ("jax.nn.one_hot(x, 9)", "(..., 9)"),
        ("x - jnp.max(x, axis=-1, keepdims=True)", "(x.shape[0], ...)"),
        ("jnp.exp(x) + x.max(axis=-1, keepdims=True)", "(x.shape[0], ...)"),
        ("jax.vmap(jnp.sin)(x)", "(x.shape[0], ...)"),
        ("jax.vmap(lambda r: jnp.sum(r, axis=-1))(x)", "(x.shape[0], ...)"),
        ("jax.random.split(key, 8)", "(8, ...)"),
        ("jax.random.split(key, (4, 2))[1]", "(2, ...)"),
        ("jax.random.split(jax.random.split(key)[0], len(x))", "(x.shape[0], ...)"),
    ],
)
def test_known_for_every_rank(expression, expected):
    assert shape(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "x.T",
        "jnp.swapaxes(x, 0, -1)",
        "jnp.mean(x, axis=0, keepdims=True) + jnp.mean(x, axis=-1, keepdims=True)",
        "x[1:].sum(axis=-1, keepdims=True)",
        "x + jnp.ones((4, 3))",
        "x @ y",
        "jnp.squeeze(x)",
    ],
)
def test_unknown_where_it_depends_on_the_rank(expression):
    assert shape(expression) == "unknown"


@pytest.mark.parametrize(
    ("expression", "fit"),
    [
        ("x - jnp.mean(x, axis=-1, keepdims=True)", Fit.FITS),
        ("x + jax.random.normal(key, x.shape)", Fit.FITS),
        ("jnp.concatenate([x[..., 1:], x[..., :1]], axis=-1)", Fit.FITS),
        ("nn.Dense(3)(x) + nn.Dense(4)(x)", Fit.CLASHES),
        ("nn.Dense(3)(x) @ jnp.ones((4, 5))", Fit.CLASHES),
        ("nn.Dense(3)(x) + jnp.ones((5, 1, 1))", Fit.OPEN),
    ],
)
def test_sizes_that_meet(expression, fit):
    assert fits(expression) == [fit]


def test_parts_that_are_one_where_there_is_one_axis_do_not_clash():
    assert fits("x[1:] - x[..., 1:]") == []


def test_what_clashes_is_written_with_the_axes_that_are_known():
    text = f"{HEAD}    return nn.Dense(3)(x) + nn.Dense(4)(x)\n"
    report = audit([decode_file("example.py", text.encode())], Config()).report
    assert [one.message for one in report.issues] == ["(..., 3) and (..., 4) cannot be broadcast together"]


def test_axes_are_lined_up_whatever_their_number():
    text = f"{HEAD}    return x - jnp.mean(x, axis=-1, keepdims=True)\n"
    report = audit([decode_file("example.py", text.encode())], Config()).report
    assert [one.reason for one in report.verified if one.rule == "silent-broadcast"] == [
        "the axes of its operands are lined up one by one, however many there are"
    ]


MODULE = """
import equinox as eqx
import jax
import jax.numpy as jnp


class Model(eqx.Module):
    embed: eqx.nn.Embedding
    bias: jax.Array

    def __init__(self, width, key):
        self.embed = eqx.nn.Embedding(10, 5, key=key)
        self.bias = jnp.zeros((width,))

    def __call__(self, x):
        return jnp.copy({expression})
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [("self.embed(x)", "(..., 5)"), ("self.bias + jnp.sin(self.bias)", "float32[self.bias.shape[0]]")],
)
def test_fields_of_an_object_from_outside_are_like_what_its_class_stores(expression, expected):
    assert shape_in(MODULE.format(expression=expression)) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("jax.vmap(lambda one: jax.random.normal(one, (3,)))(jax.random.split(key, 8))", "float32[8, 3]"),
        ("jax.random.split(jax.random.PRNGKey(h), 4)", "uint32[4, 2]"),
        ("jax.value_and_grad(lambda y: h(y))(x)[0]", "?[]"),
        ("jax.value_and_grad(lambda y: (h(y), y), has_aux=True)(x)[0][0]", "?[]"),
        ("jax.value_and_grad(lambda y: h(y), has_aux=True)(x)[0][0]", "?[]"),
        ("jax.value_and_grad(lambda y: h(y), has_aux=True)(x)[0][1]", "unknown"),
        ("jax.value_and_grad(lambda y: h(y), 0, True)(x)[0][0]", "?[]"),
        ("jax.value_and_grad(lambda y: h(y), 0, True)(x)[0][1]", "unknown"),
        ("jax.jacfwd(lambda y: h(y))(x)", "unknown"),
        ("jax.lax.cond(y, lambda: h(x), lambda: jnp.ones((2, 3)))", "float32[2, 3]"),
        ("h(x) if y else jnp.ones((2, 3))", "unknown"),
        ("jax.flatten_util.ravel_pytree(h)[0].max(0)", "?[]"),
        ("jax.vmap(lambda rays: rays[1])([jnp.ones((4, 3)) for _ in range(2)])", "float32[4, 3]"),
        ("jnp.array([r * c for r in range(3) for c in range(4)])", "int32[12]"),
        ("jnp.array([[r, c] for r in range(3) for c in range(4)])", "int32[12, 2]"),
        ("jnp.array([[r, 1.5] for r in range(3)])[:, 0]", "?[3]"),
        ("jnp.stack([jnp.zeros(4) + r for r in range(3) for c in range(r)])[0]", "float32[4]"),
        ("jnp.ones(3) * jnp.finfo(x.dtype).eps", "float32[3]"),
        ("jnp.finfo(x.dtype).dtype", "unknown"),
    ],
)
def test_known_though_an_argument_is_not(expression, expected):
    assert shape(expression) == expected


@pytest.mark.parametrize(("count", "fit"), [("4", Fit.FITS), ("len(x)", Fit.OPEN), ("5", Fit.CLASHES)])
def test_keys_that_are_mapped_beside_an_array(count, fit):
    drawn = "jax.vmap(lambda one, row: row + jax.random.normal(one))"
    facts = solved(f"{HEAD}    return {drawn}(jax.random.split(key, {count}), jnp.ones((4, 3)))\n")
    (op,) = facts.program.named("vmap")
    assert list(facts.get(Shapes).fits(op)) == [fit]
