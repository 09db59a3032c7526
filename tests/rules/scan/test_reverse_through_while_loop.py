"""What `reverse-through-while-loop` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
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
                return jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2.0), (0, x))[1]  #! reverse-through-while-loop
            return jax.grad(lambda x: plain(x).sum())(x)
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
