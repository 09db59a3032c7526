"""What annotations, assertions and patterns say of axes: their number, sizes and names."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit
from tests.analyses.shapes.test_shapes import shape_of, solved

HEAD = """
import chex
import equinox as eqx
import jax.numpy as jnp
from dataclasses import dataclass
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from beartype import beartype
from jaxtyping import Array, Float, jaxtyped
from typing import Optional, TypeAlias

Obs: TypeAlias = Float[Array, "batch 17"]
Image = Float[Array, "batch h w c"]
"""


def named(code: str, name: str = "result") -> str:
    """Return the sizes and names of the last value of a name."""
    program, shapes = solved(HEAD + textwrap.dedent(code))
    fact = [shapes.of(value) for op in program.walk() for value in op.results if value.name == name][-1]
    if fact.dims is None:
        return "?"
    words = [(dim.constant, sorted({label.name for label in dim.labels if label.kind != "axis"})) for dim in fact.dims]
    return " ".join("/".join(names) if names else str(size if size is not None else "_") for size, names in words)


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ('Float[Array, "batch time"]', "batch time"),
        ('Float[Array, "_ 3 d #n d+1 width=8"]', "_ 3 d _ _ 8"),
        ('Float[Array, ""]', ""),
        ("Obs", "batch 17"),
        ("Image", "batch h w c"),
        ('"Obs"', "batch 17"),
        ("Obs | None", "batch 17"),
        ("Optional[Obs]", "batch 17"),
        ('Float[Array, "*batch d"]', "?"),
        ('Float[Array, "... d"]', "?"),
    ],
)
def test_annotations_of_parameters(annotation, expected):
    assert named(f"def f(x: {annotation}):\n    result = x * 1\n    return result\n") == expected


@pytest.mark.parametrize(("annotation", "expected"), [("*batch d", "2 3 d"), ("b ... d", "b 3 d"), ("...", "2 3 4")])
def test_any_number_of_axes_is_filled_in_by_the_caller(annotation, expected):
    code = f'def f(x: Float[Array, "{annotation}"]):\n    result = x * 1\n    return result\n\nf(jnp.ones((2, 3, 4)))\n'
    assert named(code) == expected


def test_annotations_of_results():
    code = """
    @jaxtyped(typechecker=beartype)
    def encode(x) -> Float[Array, "batch 32"]:
        return unseen(x)

    @jaxtyped(typechecker=beartype)
    def pair(x) -> tuple[Obs, Float[Array, "n"]]:
        return unseen(x), other(x)

    def use(x):
        first, second = pair(x)
        result = encode(x) * 1
        left = first * 1
        right = second * 1
    """
    assert (named(code), named(code, "left"), named(code, "right")) == ("batch 32", "batch 17", "n")


def test_results_that_nobody_checks_are_only_noted():
    code = 'def f(x) -> Float[Array, "batch 32"]:\n    return unseen(x)\n\ndef g(x):\n    result = f(x) * 1\n'
    assert named(code) == "?"
    known = 'def f(x) -> Float[Array, "batch wide"]:\n    return x + jnp.ones((2, 3))\n\nresult = f(1.0) * 1\n'
    assert named(known) == "batch wide"


@pytest.mark.parametrize("head", ["@dataclass\nclass State:", "class State(eqx.Module):"])
def test_annotations_of_fields(head):
    code = f'{head}\n    w: Float[Array, "wide 4"]\n\ndef use(state: State):\n    result = state.w * 1\n'
    assert named(code) == "wide 4"


@pytest.mark.parametrize(
    ("assertion", "expected"),
    [
        ("chex.assert_shape(x, (3, None, 5))", "3 _ 5"),
        ("chex.assert_shape([x, y], (3, 4))", "3 4"),
        ("chex.assert_shape([y, x], [(3,), (4, 5)])", "4 5"),
        ("chex.assert_shape(x, (..., 5))", "?"),
        ("chex.assert_rank(x, 2)", "_ _"),
        ("chex.assert_rank([y, x], [1, 3])", "_ _ _"),
        ("chex.assert_rank(x, {1, 2})", "?"),
        ("chex.assert_rank([x, y], {1, 2})", "?"),
        ("chex.assert_rank(y, 2); chex.assert_equal_rank([x, y])", "_ _"),
        ("chex.assert_shape(y, (2, 7)); chex.assert_equal_shape([x, y])", "2 7"),
        ("chex.assert_rank(x, 2); chex.assert_axis_dimension(x, -1, 9)", "_ 9"),
        ("d = chex.Dimensions(B=4, T=6); chex.assert_shape(x, d['BT'])", "B T"),
    ],
)
def test_assertions(assertion, expected):
    assert named(f"def f(x, y):\n    {assertion}\n    result = x * 1\n    return result\n") == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('rearrange(x, "b t (h d) -> b h t d", h=4)', "b h t d"),
        ('reduce(x, "b t d -> b d", "mean")', "b d"),
        ('repeat(x, "b t d -> b s t d", s=9)', "b s t d"),
        ('einsum(x, w, "b t d, d f -> b t f")', "b t f"),
        ('einsum(x, w, "... d, d f -> ... f")', "2 3 f"),
        ('pack([x, x], "b * d")[0]', "2 6 8"),
        ('pack([x[:, 0], x[:, 0]], "* d")[0]', "4 8"),
        ('unpack(pack([x, x[:, 0]], "b * d")[0], pack([x, x[:, 0]], "b * d")[1], "b * d")[1]', "2 8"),
        ('jnp.einsum("btd,df->btf", x, w)', "b t f"),
    ],
)
def test_patterns(expression, expected):
    assert named(f"x = jnp.ones((2, 3, 8)); w = jnp.ones((8, 5))\nresult = {expression}\n") == expected


@pytest.mark.parametrize(
    ("assertion", "said"),
    [
        ("chex.assert_rank(x, 3)", "`assert_rank` asks for 3 axes, and the array is (4, 5)"),
        ("chex.assert_shape(x, (4, 6))", "`assert_shape` asks for (4, 6), and the array is (4, 5)"),
        ("chex.assert_shape(x, (None, 5))", ""),
        ("chex.assert_rank(x, {2, 3})", ""),
    ],
)
def test_assertions_that_fail_for_sure(assertion, said):
    code = f"{HEAD}\nx = jnp.ones((4, 5))\n{assertion}\n"
    report = audit([SourceFile("program.py", code)], Config(select=("axis-conflict",))).report
    assert [one.message for one in report.issues] == ([said] if said else [])


def test_letters_hand_names_on():
    code = """
    HEADS, QUERIES, KEYS = 4, 7, 9
    scores = jnp.einsum("bqhd,bkhd->bhqk", jnp.ones((2, QUERIES, HEADS, 8)), jnp.ones((2, KEYS, HEADS, 8)))
    result = scores * 1
    """
    assert named(code) == "b HEADS QUERIES KEYS"


def test_shapes_of_letters_in_unknown_ranks():
    assert shape_of(f"{HEAD}\ndef f(q):\n    result = jnp.einsum('bqhd->bhqd', q)\n    return result\n") == (
        "q.shape[0], q.shape[2], q.shape[1], q.shape[3]"
    )
