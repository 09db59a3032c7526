"""What `carry-type-changes` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "new parameters have the shapes of the old ones": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)

        def train(p, xs):
            def body(carry, x):
                p, s = carry
                u, s = tx.update(jax.grad(loss)(p, x), s, p)
                p = optax.apply_updates(p, u)
                return ({**p, "b": p["b"][None]}, s), loss(p, x)
            return jax.lax.scan(body, (p, tx.init(p)), xs)  #! carry-type-changes
        train(start(jax.random.key(0)), jnp.ones((5, 16, 4)))
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
