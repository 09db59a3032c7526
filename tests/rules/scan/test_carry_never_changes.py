"""What `carry-never-changes` says of the conditions of loops."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "turns that are not counted": """
        from typing import NamedTuple

        class State(NamedTuple):
            x: jax.Array
            done: jax.Array
            t: int

        def episode(x):
            def body(state):
                x = state.x * 0.9
                return state._replace(x=x, done=jnp.all(x < 1e-3))  #! carry-never-changes

            return jax.lax.while_loop(lambda s: ~s.done & (s.t <= 99), body, State(x, jnp.array(False), 0))

        def hailstone(n):
            def body(state):
                n, count = state
                return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count  #! carry-never-changes

            return jax.lax.while_loop(lambda s: (s[0] != 1) & (s[1] < 1000), body, (n, 0))
        """,
    "limits that are carried": """
        def halved(x, tolerance):
            return jax.lax.while_loop(lambda s: s[0].max() > s[1], lambda s: (s[0] * 0.5, s[1]), (x, tolerance))

        def doubled(x):
            def body(state):
                i, x, n = state
                return i + 1, x * 2, n

            return jax.lax.while_loop(lambda s: s[0] < s[2], body, (0, x, 9))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
