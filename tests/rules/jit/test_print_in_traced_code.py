"""What `print-in-traced-code` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "loops without compilation": """
        def cumsum(total, x):
            total = total + x
            print(total)
            return total, total

        def shown(xs):
            with jax.disable_jit():
                return jax.lax.scan(cumsum, 0, xs)

        def cumsum_traced(total, x):
            total = total + x
            print(total)  #! print-in-traced-code
            return total, total

        def wrong(xs):
            return jax.lax.scan(cumsum_traced, 0, xs)
        """,
    "old ways of formatting": """
        @jax.jit
        def step(x):
            loss = jnp.mean(x**2)
            print("loss %.3f" % loss)  #! print-in-traced-code
            print("loss {:.3f}".format(loss))  #! print-in-traced-code
            return loss
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
