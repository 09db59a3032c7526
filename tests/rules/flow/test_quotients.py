"""What `combined-with-itself` says of quotients that are differentiated."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "helpers and trees": """
        def unit(v):
            return v / jnp.maximum(v, 1e-8)  #! combined-with-itself

        def objective(p, x):
            return unit(jnp.mean((x @ p) ** 2)) + 0.1 * unit(jnp.sum(p**2))

        def parts(p, x):
            losses = {"fit": jnp.mean((x @ p) ** 2), "size": jnp.abs(p).sum()}
            return sum(jax.tree.leaves(jax.tree.map(lambda l: l / (1e-6 + l), losses)))  #! combined-with-itself

        def step(p, x):
            return p - 0.1 * jax.grad(objective)(p, x) - 0.1 * jax.grad(parts)(p, x)

        step(jnp.ones(3), jnp.ones((4, 3)))
        """,
    "saturation, elements, other numbers and what is not differentiated": """
        def objective(p):
            n, s = jnp.linalg.norm(p), jnp.sum(p)
            return n / (1.0 + n) + s / (n + 1e-6) + jnp.sum(p / (p + 1e-6))

        def step(p):
            return p - 0.1 * jax.grad(objective)(p)

        def share(p):
            n = jnp.sum(p)
            return n / (n + 1e-8)

        step(jnp.ones(3))
        share(jnp.ones(3))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
