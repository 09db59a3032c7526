"""Lists and tuples made of arrays: they hold rows, and `+` joins them. Lines that end in `#!` give an error, no others do."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PREFIX = """
import jax
import jax.numpy as jnp
"""

PROGRAMS = {
    "rows of an array and one more": """
        @jax.jit
        def f(x, y):
            rows = tuple(x) + (y,)
            if rows:
                return jnp.stack(rows)
            return y
        def main(n):
            return f(jnp.ones((3, 4)), jnp.ones(4))
        """,
    "a list of rows and one more": """
        @jax.jit
        def f(x, y):
            rows = list(x) + [y]
            return jnp.stack(rows), [y] + list(x)
        def main(n):
            return f(jnp.ones((3, 4)), jnp.ones(4))
        """,
    "a size of which nothing is known": """
        def main(info, n, k):
            shape = (info.batch,) + tuple(info.size)
            other = tuple(info.size) + (n + 1, 3)
            return jnp.zeros(shape), jnp.zeros(other)
        """,
    "parts of shapes": """
        @jax.jit
        def f(x):
            z = jnp.zeros((3,) + tuple(x.shape[1:]))
            y = jnp.ones(list(x.shape) + [2])
            return z + x, y[..., 0] + x
        def main():
            return f(jnp.ones((3, 4)))
        """,
    "a shape put together that does not fit": """
        @jax.jit
        def f(x):
            z = jnp.zeros((3,) + tuple(x.shape[1:]))
            return z + jnp.ones((5, 4))  #!
        def main():
            return f(jnp.ones((3, 4)))
        """,
    "tuples and lists of keys": """
        def main(key):
            keys = tuple(jax.random.split(key, 3)) + (jax.random.key(7),)
            return [jax.random.normal(k) for k in keys]
        def again(key):
            a, b = tuple(jax.random.split(key))
            return jax.random.normal(a), jax.random.normal(b), jax.random.normal(b)  #!
        def third(key):
            keys = list(jax.random.split(key, 3))
            return jax.random.normal(keys[0]), jax.random.normal(keys[1])
        """,
    "tuples as indices": """
        def main(x, index):
            i = tuple(jnp.unravel_index(index, x.shape)) + (0,)
            return x[i], x[tuple(index)], x.at[tuple(index) + (0,)].set(2.0)
        """,
    "one index for each axis": """
        @jax.jit
        def f(grid, idx):
            return grid[tuple(idx)] + jnp.ones(5)
        def main():
            return f(jnp.ones((3, 4, 5)), jnp.array([1, 2]))
        """,
    "rows that are joined again": """
        def main():
            x = jnp.ones((3, 4, 5))
            joined = jnp.concatenate(list(x)) + jnp.ones((12, 5))
            return joined, jnp.stack(tuple(x)) + x, jnp.array(list(x)) + x, sum(list(x)) + x[0]
        """,
    "rows that are unpacked": """
        def main():
            a, b, c = list(jnp.ones((3, 4)))
            d, *e = tuple(jnp.ones((3, 4)))
            return a + jnp.ones(4), d + jnp.ones(4), len(list(jnp.ones((3, 4))))
        """,
    "a row decides": """
        @jax.jit
        def f(x):
            for row in list(x):
                if row.sum() > 0:  #!
                    x = x + 1
            return x
        def main():
            return f(jnp.ones((3, 4)))
        """,
    "the type of a tuple": """
        @jax.jit
        def f(x, parts):
            parts = tuple(parts)
            if isinstance(parts, tuple):
                return x
            return x + 1
        """,
}


@pytest.mark.parametrize("title", PROGRAMS)
def test_rows(title: str) -> None:
    code = PREFIX + textwrap.dedent(PROGRAMS[title])
    outcome = audit([SourceFile("module.py", code)], Config())
    assert not outcome.faults
    marked = {number for number, line in enumerate(code.splitlines(), 1) if line.endswith("#!")}
    assert {issue.line for issue in outcome.report.issues} == marked, outcome.report.issues
