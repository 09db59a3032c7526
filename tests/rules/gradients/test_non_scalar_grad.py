"""What `non-scalar-grad` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
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
            return jax.grad(loss)(w, x)  #! non-scalar-grad
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
