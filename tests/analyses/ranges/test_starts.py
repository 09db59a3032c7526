"""Zeros that loops start with, and what sizes and products of arrays are known to be."""

from __future__ import annotations

from textwrap import dedent

from jaxaudit.analyses.solve import solve
from jaxaudit.discover import decode_file, loader
from jaxaudit.frontends.source.read import read_source
from jaxaudit.rules.base import Verdict
from jaxaudit.rules.numerics.unsafe_domain import UnsafeDomain


def lines(text: str) -> set[int]:
    """Return the lines where something is told of a program, counted from its first import."""
    files = [decode_file("program.py", dedent(text).lstrip().encode())]
    program = read_source(files, loader(files)).program
    found = UnsafeDomain().check(program, solve(program, UnsafeDomain.needs))
    return {one.span.line for one in found if one.verdict is Verdict.VIOLATED}


def test_a_zero_that_the_first_turn_sees():
    assert lines(
        """
        import jax

        def means(x):
            def body(carry, t):
                total, count = carry
                return (total + t, count + 1.0), total / count
            return jax.lax.scan(body, (0.0, 0.0), x)[1].sum()

        def harmonic():
            return jax.lax.fori_loop(0, 4, lambda i, total: total + 1.0 / i, 0.0)
        """
    ) == {6, 10}


def test_a_count_that_is_raised_or_bounded_first():
    assert (
        lines(
            """
            import jax
            import jax.numpy as jnp

            def means(x):
                def body(carry, t):
                    total, count = carry
                    total, count = total + t, count + 1.0
                    return (total, count), total / count + total / jnp.maximum(carry[1], 1.0)
                return jax.lax.scan(body, (0.0, 0.0), x)[1].sum()

            def root(x):
                def body(carry):
                    value, step = carry
                    return value + x, step + 1
                return jax.lax.while_loop(lambda carry: jnp.abs(x / carry[0]) > 0.1, body, (0.0, 0))
            """
        )
        == set()
    )
