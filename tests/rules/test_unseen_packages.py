"""Code of a further batch of packages that nobody had looked at; lines that end in `#!` give an error, no others do."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PREFIX = """
import jax
import jax.numpy as jnp
import numpy as np
from typing import NamedTuple
"""

PROGRAMS = {
    "a size that an if has told": """
        def blocks(matrix, n, d):
            if d == 2:
                off = jnp.diag(matrix).reshape(n, d)[:, 1:]
                return off[..., None] * jnp.eye(d)
            return matrix

        def wrong(matrix, n, d):
            off = jnp.diag(matrix).reshape(n, d)[:, 1:]
            return off[..., None] * jnp.eye(d)  #!
        """,
    "records that count as leaves": """
        class Pair(NamedTuple):
            x: jax.Array
            slope: jax.Array

        def forward(f):
            def wrapped(*args):
                plain = jax.tree.map(
                    lambda one: one.x if isinstance(one, Pair) else one, args, is_leaf=lambda one: isinstance(one, Pair)
                )
                return f(*plain)
            return wrapped

        def run(q, e):
            return forward(lambda q, e: jnp.exp(q) + e)(Pair(q, q), Pair(e, e))

        def wrong(q, e):
            return jnp.exp(q) + Pair(e, e)  #!
        """,
    "something that is flattened in place": """
        def load(library, flat):
            cell = next((one for one in library.cells if one.name == "top"), None)
            if flat:
                cell.flatten()
            return cell

        def wrong(x):
            x.flatten()  #!
            return x + jnp.ones(3)
        """,
    "a function and its inverse": """
        def rotate(x, key):
            first, _ = jax.random.split(key)
            return x * jax.random.rademacher(first, x.shape)

        def inverse_rotate(x, key):
            first, _ = jax.random.split(key)
            return x * jax.random.rademacher(first, x.shape)

        def mix(x, key):
            first, _ = jax.random.split(key)
            return x * jax.random.rademacher(first, x.shape)

        def compressed(x, key):
            return inverse_rotate(jnp.round(rotate(x, key)), key)

        def wrong(x, key):
            return mix(jnp.round(rotate(x, key)), key)  #!
        """,
    "a norm that is zero for nothing": """
        def safe_norm(x):
            total = jnp.sum(x * x, axis=-1, keepdims=True)
            safe = jnp.where(total == 0.0, 1.0, total)
            return jnp.where(total == 0.0, 0.0, jnp.sqrt(safe))

        def harmonics(x):
            return x / safe_norm(x)

        def wrong(x, mask):
            return x / jnp.where(mask, x.sum(), 0.0)  #!
        """,
    "functions of numbers and of arrays": """
        from beartype import beartype
        from jaxtyping import Array, Float, jaxtyped

        def amplitude(f: Float[Array, " n"], theta: Float[Array, "4"]) -> Float[Array, " n"]:
            return f**2 * theta[0]

        def joined(f, theta):
            value, slope = jax.value_and_grad(amplitude)(f * 2.0, theta)
            return value + slope

        @jaxtyped(typechecker=beartype)
        def loss(w: Float[Array, "d"], x: Float[Array, "n d"]):
            return (x @ w) ** 2

        def wrong(w, x):
            return jax.grad(loss)(w, x)  #!
        """,
    "both orders, one of them in a branch": """
        def bound(misses, alarms):
            return jnp.log(1 - misses) - jnp.log(alarms)

        def both(counts, one_sided):
            misses, alarms = counts[0] / 3, counts[1] / 4
            found = bound(misses, alarms)
            if not one_sided:
                found = jnp.maximum(found, bound(alarms, misses))
            return found

        def wrong(counts):
            misses, alarms = counts[0] / 3, counts[1] / 4
            return bound(alarms, misses)  #!
        """,
    "double precision for one block": """
        def solve(f, x):
            with jax.enable_x64():
                return f(x)

        def run(f):
            start = jnp.array(0.0)
            return solve(f, start)
        """,
    "a key for each layer and one more": """
        def init(key, sizes, last):
            keys = jax.random.split(key, len(sizes) + 1)
            params = []
            for i, size in enumerate(sizes):
                params.append(jax.random.normal(keys[i], (size,)))
            return [*params, jax.random.normal(keys[-1], (last,))]

        def wrong(key, n, last):
            keys = jax.random.split(key, n)
            params = jax.vmap(lambda key: jax.random.normal(key, (3,)))(keys)
            return params, jax.random.normal(keys[-1], (last,))  #!
        """,
    "parts of a tree that are lists": """
        def stacked(start, stop):
            pairs = jax.tree.map(lambda x: [x, x], {"a": jnp.zeros(()), "b": jnp.ones(())})
            return jax.tree.map(lambda x: jnp.stack(x[start:stop]), pairs, is_leaf=lambda x: isinstance(x, list))

        def wrong(start, stop):
            return jax.tree.map(lambda x: x[start:stop], {"a": jnp.zeros(()), "b": jnp.ones(())})  #!
        """,
    "compared with None": """
        def scaled(x, scale):
            if scale == None:
                return x
            return x * scale

        @jax.jit
        def run(x, scale):
            return scaled(x, scale * 2.0)

        @jax.jit
        def wrong(x, scale):
            if scale * 2.0 == 1.0:  #!
                return x
            return x * scale
        """,
    "a loop behind a rule of its own": """
        @jax.custom_vjp
        def power(x):
            return jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2.0), (0, x))[1]

        def fwd(x):
            return power(x), x

        def bwd(x, g):
            return (g * 8.0,)

        power.defvjp(fwd, bwd)

        def slope(x):
            return jax.grad(lambda x: power(x).sum())(x)

        def wrong(x):
            def plain(x):
                return jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2.0), (0, x))[1]  #!
            return jax.grad(lambda x: plain(x).sum())(x)
        """,
    "arrays of another library": """
        def shuffle(x, groups):
            b, c, h, w = x.shape
            return x.reshape(b, groups, c // groups, h, w).transpose(1, 2).reshape(b, c, h, w)

        def wrong(x, groups):
            b, c, h, w = x.shape
            return jnp.exp(x).reshape(b, groups, c // groups, h, w).transpose(1, 2)  #!
        """,
}


def lines(code: str, mark: str) -> set[int]:
    return {number for number, line in enumerate(code.splitlines(), 1) if line.endswith(mark)}


@pytest.mark.parametrize("title", PROGRAMS)
def test_unseen_packages(title: str) -> None:
    code = PREFIX + textwrap.dedent(PROGRAMS[title])
    found = audit([SourceFile("unseen.py", code)], Config())
    assert not found.faults
    assert {issue.line for issue in found.report.issues} == lines(code, "#!"), found.report.issues


def test_a_file_is_told_once_of_double_precision() -> None:
    code = "import jax.numpy as jnp\n\ndef f(n):\n    return jnp.zeros(n, jnp.float64), jnp.ones(n, jnp.float64)\n"
    report = audit([SourceFile("one.py", code), SourceFile("two.py", code)], Config()).report
    assert [(one.path, one.line) for one in report.warnings] == [("one.py", 4), ("two.py", 4)]


def test_signs_of_purpose_are_enough_in_tests() -> None:
    code = """
import jax

def score(w, key):
    return (w * jax.random.normal(key, (3,))).sum()

def slope(w, key):
    return score(w + 0.1, key) - score(w - 0.1, key)
"""
    assert not audit([SourceFile("tests/test_slope.py", code)], Config()).report.warnings
    assert audit([SourceFile("slope.py", code)], Config()).report.warnings
