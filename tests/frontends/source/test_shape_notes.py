"""Shapes that comments, docstrings, assertions and patterns tell."""

import ast

import pytest

from jaxaudit.analyses.labels import told
from jaxaudit.frontends.source.notes.shape_notes import in_comment, in_docstring, parsed
from tests.analyses.shapes.test_shapes import shape_of, solved


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(B, T, D)", ("", ("B", "T", "D"))),
        ("[batch, time]", ("", ("batch", "time"))),
        ("(B, T, D) after the norm", ("", ("B", "T", "D"))),
        ("shape: (num_envs, obs_dim)", ("", ("num_envs", "obs_dim"))),
        ("x: (B, T)", ("x", ("B", "T"))),
        ("-> (B, T)", ("", ("B", "T"))),
        ("[B, T, D] -> [B, D]", ("", ("B", "D"))),
        ("B x T x D", ("", ("B", "T", "D"))),
        ("(B*T, 3)", ("", ("B*T", "3"))),
        ("(batch,)", ("", ("batch",))),
        ("[0, T) is half open", None),
        ("(x, y) = f(z)", None),
        ("see (the paper, section 3)", None),
        ("(rng_key, state) -> params", None),
        ("x = (1, 2)", None),
        ("a list: ['a', 'b']", None),
        ("(for now, at least)", None),
        ("(..., D)", None),
    ],
)
def test_comments_tell_shapes(text, expected):
    assert in_comment(text) == expected


def test_an_entry_of_words_is_no_axis():
    assert parsed("(the batch, the time)") is None


DOCSTRING = '''
def f(x, y, mask, rate, w):
    """Do it.

    Args:
        x: array of shape (batch, time, obs).
        y (jnp.ndarray): the targets, a tensor
            of shape [B, T].
        mask: (B, T) array of booleans
        rate: a number in (0, 1)
        w: not an array

    Returns:
        An array of shape (batch,).
    """
'''


def test_docstrings_tell_shapes_of_parameters():
    node = ast.parse(DOCSTRING).body[0]
    assert dict(in_docstring(node)) == {"x": ("batch", "time", "obs"), "y": ("B", "T"), "mask": ("B", "T")}


def names_of(code, name):
    program, shapes = solved("import jax, chex, einops\nimport jax.numpy as jnp\n" + code)
    values = [value for op in program.walk() for value in (*op.operands, *op.results) if value.name == name]
    dims = shapes.of(values[-1]).dims or ()
    return [(label.name, label.where) for dim in dims for label in told(dim.labels)]


def test_names_keep_where_they_come_from():
    code = "x = jnp.ones((8, 3))  # (batch, feat)\ny = x + 1\nz = jnp.copy(y)\n"
    assert names_of(code, "y") == [("batch", "the comment at line 3"), ("feat", "the comment at line 3")]


def test_a_comment_on_the_line_above_counts():
    code = "# [batch, feat]\nx = jnp.ones((8, 3))\nz = jnp.copy(x)\n"
    assert [name for name, _ in names_of(code, "x")] == ["batch", "feat"]


def test_a_comment_with_another_rank_gives_no_names():
    assert names_of("x = jnp.ones((8, 3))  # (batch,)\nz = jnp.copy(x)\n", "x") == []


def test_comments_give_no_rank():
    code = "def f(x):\n    y = x.foo()  # (batch, time)\n    return jnp.copy(y)\n"
    assert names_of(code, "y") == []


def test_assertions_fix_the_rank():
    code = "import chex, jax.numpy as jnp\ndef f(x):\n    chex.assert_rank(x, 3)\n    result = x * 2\n    return jnp.copy(result)\n"
    assert shape_of(code) == "x.shape[0], x.shape[1], x.shape[2]"


def test_assertions_name_axes():
    code = "BATCH, TIME = 4, 6\ndef f(x):\n    chex.assert_shape(x, (BATCH, TIME, None))\n    y = x * 2\n    return y\n"
    assert names_of(code, "y") == [("BATCH", "the assertion at line 5"), ("TIME", "the assertion at line 5")]


def test_letters_of_einsum_fix_the_rank():
    code = "import jax.numpy as jnp\ndef f(x, w):\n    y = jnp.einsum('btd,dh->bth', x, w)\n    result = x.sum(0)\n    return jnp.copy(result)\n"
    assert shape_of(code) == "x.shape[1], x.shape[2]"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("einops.rearrange(x, 'b t (h d) -> b h t d', h=4)", "2, 4, 6, 2"),
        ("einops.rearrange(x, 'b t d -> (b t) d')", "12, 8"),
        ("einops.rearrange(x, 'b ... -> ... b')", "6, 8, 2"),
        ("einops.reduce(x, 'b t d -> b d', 'mean')", "2, 8"),
        ("einops.reduce(x, 'b t d -> b 1 d', 'max')", "2, 1, 8"),
        ("einops.repeat(x, 'b t d -> b n t d', n=3)", "2, 3, 6, 8"),
    ],
)
def test_patterns_of_einops_give_shapes(expression, expected):
    code = f"import einops, jax.numpy as jnp\nx = jnp.ones((2, 6, 8))\nresult = {expression}\ny = jnp.copy(result)\n"
    assert shape_of(code) == expected


def test_a_pattern_with_too_few_axes_is_a_conflict():
    _, shapes = solved("import einops, jax.numpy as jnp\ny = einops.rearrange(jnp.ones((2, 6, 8)), 'b t -> t b')\n")
    clashes = [context.clash for contexts in shapes.seen.values() for context in contexts if context.clash]
    assert clashes == ["the pattern names 2 axes, the array has 3"]
