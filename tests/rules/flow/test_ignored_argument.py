"""What `ignored-argument` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "parameters that an interface asks for": """
        def grow(x, scale, chance, limit):
            return x * 2

        def shrink(x, scale, chance, limit):
            return x / 2

        def keep(x, scale, chance, limit):
            return x

        def run(x, scale, chance):
            scale, chance = jnp.exp(scale), jnp.exp(chance)
            return grow(x, scale, chance, chance) + shrink(x, scale, chance, chance) + keep(x, scale, chance, chance)
        """,
    "the time of a step is left from an earlier version": """
        @jax.jit
        def step(i, state):
            t = i * 0.1
            return state + 1.0

        def main(state):
            return jax.lax.fori_loop(0, 3, step, state)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
