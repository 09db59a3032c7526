"""What `final-carry-indexed` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "by its place, of a record": """
        from typing import NamedTuple

        class State(NamedTuple):
            h: jax.Array
            c: jax.Array

        def encode(p, xs):
            def cell(s, x):
                c = 0.9 * s.c + jnp.tanh(x @ p + s.h)
                return State(jnp.tanh(c), c), None

            zeros = jnp.zeros((xs.shape[1], 8))
            state = jax.lax.scan(cell, State(zeros, zeros), xs)[0]
            return state.h[-1]  #! final-carry-indexed

        encode(jnp.ones((3, 8)), jnp.ones((20, 16, 3)))
        """,
    "the last entry of each example": """
        def encode(p, xs):
            cell = lambda h, x: (jnp.tanh(x @ p + h), None)
            h, _ = jax.lax.scan(cell, jnp.zeros((xs.shape[1], 8)), xs)
            return h[:, -1] + h[..., -1]

        encode(jnp.ones((3, 8)), jnp.ones((20, 16, 3)))
        """,
    "a buffer of all steps": """
        def record(xs):
            def body(s, x):
                at, seen = s
                return (at + 1, seen.at[at].set(x)), None

            (_, seen), _ = jax.lax.scan(body, (0, jnp.zeros((xs.shape[0], xs.shape[1]))), xs)
            return seen[-1]

        record(jnp.ones((20, 16)))
        """,
    "levels of a grid": """
        LEVELS, BATCH = 4, 16

        def run(xs):
            h, _ = jax.lax.scan(lambda h, x: (h + x, None), jnp.zeros((LEVELS, BATCH)), xs)
            return h[-1]

        run(jnp.ones((20, BATCH)))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert [one for one in said(program) if one[1] == "final-carry-indexed"] == marked(program)
