"""What uses ask of the values they use: ranks, and that what sizes are made of are integers."""

from __future__ import annotations

import textwrap

import pytest

from jaxaudit.analyses.shapes.demands import demands
from jaxaudit.discover import decode_file, loader
from jaxaudit.frontends.source.read import read_source

ASKED = {
    "its whole shape is taken apart": ("b, t = x.shape", 2),
    "so is that of what is made of it": ("b, t = jnp.expand_dims(jnp.mean(-x, axis=1), 0).shape", 2),
    "letters name its axes": ("return jnp.einsum('btd,df->btf', x, y)", 3),
    "a pattern names its axes": ("return einops.rearrange(x, 'b t (h d) -> b h t d', h=2)", 3),
    "a pattern reduces some": ("return einops.reduce(x, 'b h w c -> b c', 'mean')", 4),
    "a slice has a size for each": ("return jax.lax.dynamic_slice(x, (0, y), (2, 3))", 2),
    "a slice starts somewhere along each": ("return jax.lax.dynamic_update_slice(x, y, (0, y, 0))", 3),
    "so does a slice of many sizes": ("return jax.lax.dynamic_slice(x, (0, y), s)", 2),
    "each axis is padded": ("return jnp.pad(x, ((0, 0), (1, 1), (0, 2)))", 3),
    "all its axes are permuted": ("return x.transpose(0, 2, 1)", 3),
    "a convolution names its axes": (
        "return jax.lax.conv_general_dilated(x, y, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
        4,
    ),
    "other ranks are refused": ("assert x.ndim == 2", 2),
    "the program raises for other ranks": ("if len(x.shape) != 3:\n    raise ValueError", 3),
    "a function that is called asks for it": ("return two(x)", 2),
    "it is mapped to what has two": ("return jax.vmap(two)(x)", 3),
    "it is shared by what has two": ("return jax.vmap(lambda a, b: two(a), in_axes=(None, 0))(x, y)", 2),
    "it is scanned": ("return jax.lax.scan(lambda c, row: (c, two(row)), 0.0, x)", 3),
    "it is carried": ("return jax.lax.fori_loop(0, 3, lambda i, c: two(c) + c, x)", 2),
    "it is a size": ("return jnp.zeros((x, 3))", 0),
    "it is how often a loop turns": ("return jax.lax.scan(lambda c, _: (c, None), 0.0, None, length=x)", 0),
    "it is the end of a range": ("for i in range(x):\n    print(i)", 0),
}
SILENT = {
    "only some ways lead there": "if y:\n    b, t = x.shape",
    "some ways end before": "if y:\n    return x\nb, t = x.shape",
    "several ranks are treated": "if x.ndim == 2:\n    x = x[None]\nb, t = x.shape",
    "what is raised is caught": "try:\n    b, t = x.shape\nexcept ValueError:\n    pass",
    "uses are at odds": "b, t = x.shape\nreturn jnp.einsum('btd->b', x)",
    "a pattern leaves some open": "return einops.rearrange(x, '... d -> d ...')",
    "all axes are padded alike": "return jnp.pad(x, ((1, 1),)), jnp.pad(x, 2)",
    "there may be more": "b, t, *rest = x.shape",
    "a shape may stand there": "return y.reshape(x), jnp.zeros(x)",
    "it may be a list": "b, t = x[0].shape",
    "what is calculated is its own affair": "return jnp.zeros((x / 2, 3))",
}
PROGRAM = """
import einops
import jax
import jax.numpy as jnp


def two(a):
    b, t = a.shape
    return b


def f(x, y):
{body}
"""


def asked(body: str) -> int | None:
    text = PROGRAM.format(body=textwrap.indent(body, "    "))
    file = decode_file("example.py", text.encode())
    program = read_source([file], loader([file])).program
    root = next(one.region for one in program.roots if one.name.endswith(".f"))
    fact = demands(program).get(root.params[0])
    return None if fact is None else fact.rank


@pytest.mark.parametrize(("body", "rank"), ASKED.values(), ids=ASKED)
def test_a_use_that_surely_runs_says_the_rank(body, rank):
    assert asked(body) == rank


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_other_uses_say_nothing(body):
    assert asked(body) is None
