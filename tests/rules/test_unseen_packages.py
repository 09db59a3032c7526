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
}


def lines(code: str, mark: str) -> set[int]:
    return {number for number, line in enumerate(code.splitlines(), 1) if line.endswith(mark)}


@pytest.mark.parametrize("title", PROGRAMS)
def test_unseen_packages(title: str) -> None:
    code = PREFIX + textwrap.dedent(PROGRAMS[title])
    found = audit([SourceFile("unseen.py", code)], Config())
    assert not found.faults
    assert {issue.line for issue in found.report.issues} == lines(code, "#!"), found.report.issues
