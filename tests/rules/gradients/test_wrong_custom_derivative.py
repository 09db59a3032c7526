"""What `wrong-custom-derivative` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a cotangent that is made an array": """
        def lookup():
            @jax.custom_vjp
            def look(w, i):
                return w[i]

            def fwd(w, i):
                return w[i], (i, w.shape)

            def bwd(saved, g):
                i, shape = saved
                g = jnp.asarray(g)
                return jnp.zeros(shape).at[i].add(g), None

            look.defvjp(fwd, bwd)
            return look

        lookup()(jnp.ones((3, 4)), jnp.array([0, 1]))
        """,
    "a rule for arguments with defaults": """
        @jax.custom_vjp
        def spike(x, alpha=80):
            return jnp.heaviside(x, 0.0)

        def fwd(x, alpha):
            return jnp.heaviside(x, 0.0), (x, alpha)

        def bwd(saved, g):
            x, alpha = saved
            return g / (alpha * jnp.abs(x) + 1.0) ** 2, None

        spike.defvjp(fwd, bwd)
        print(spike(jnp.ones(3)))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
