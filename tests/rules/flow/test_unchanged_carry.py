"""What `unchanged-carry` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a ring that hands on what it had": """
        def attend(q, k, v, n):
            ring = [(i, (i + 1) % n) for i in range(n)]

            def body(_, carry):
                total, keys, values = carry
                total = total + jax.nn.softmax(q @ keys.T) @ values
                keys = lax.ppermute(keys, "x", ring)
                received = lax.ppermute(values, "x", ring)  #! unchanged-carry
                return total, keys, values

            return lax.fori_loop(0, n, body, (jnp.zeros_like(q), k, v))[0]

        run = jax.pmap(attend, axis_name="x", static_broadcasted_argnums=3)
        """,
    "a ring that hands on what it received": """
        def attend(q, k, v, n):
            ring = [(i, (i + 1) % n) for i in range(n)]

            def body(_, carry):
                total, keys, values = carry
                total = total + jax.nn.softmax(q @ keys.T) @ values
                return total, lax.ppermute(keys, "x", ring), lax.ppermute(values, "x", ring)

            return lax.fori_loop(0, n, body, (jnp.zeros_like(q), k, v))[0]

        run = jax.pmap(attend, axis_name="x", static_broadcasted_argnums=3)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
