"""What `gradient-applied-elsewhere` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "the temperature of an actor, by hand": """
        def step(log_alpha, entropy):
            alpha = jnp.exp(log_alpha)
            slope = jax.grad(lambda alpha: alpha * entropy.mean())(alpha)
            return log_alpha - 3e-4 * slope  #! gradient-applied-elsewhere

        def right(log_alpha, entropy):
            slope = jax.grad(lambda log_alpha: jnp.exp(log_alpha) * entropy.mean())(log_alpha)
            return log_alpha - 3e-4 * slope
        """,
    "by an optimizer, in a compiled step": """
        import optax

        tx = optax.adam(3e-4)

        @jax.jit
        def step(log_scale, state, x):
            scale = jnp.exp(log_scale)
            slope = jax.grad(lambda scale: jnp.sum(scale * x))(scale)
            updates, state = tx.update(slope, state)
            return optax.apply_updates(log_scale, updates), state  #! gradient-applied-elsewhere

        @jax.jit
        def right(scale, state, x):
            slope = jax.grad(lambda scale: jnp.sum(scale * x))(scale)
            updates, state = tx.update(slope, state)
            return optax.apply_updates(scale, updates), state
        """,
    "the value and its gradient": """
        def step(raw, x):
            weight = jax.nn.softplus(raw)
            loss, slope = jax.value_and_grad(lambda w: jnp.sum((w * x) ** 2))(weight)
            return raw - 0.1 * slope, loss  #! gradient-applied-elsewhere
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
