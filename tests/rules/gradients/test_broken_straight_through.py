"""What `broken-straight-through` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

_PROGRAM = """
        def hardened(soft):
            return jax.nn.one_hot(jnp.argmax(soft, axis=-1), 4)

        def passed_on({given}):
            return {result}

        def sample(logits):
            soft = jax.nn.softmax(logits)
            hard = hardened(soft)
            return passed_on({given})

        jax.grad(lambda logits: sample(logits).sum())(jnp.ones(4))
        """
PROGRAMS = {
    "a helper is given both": _PROGRAM.format(
        given="hard, soft", result="soft + hard - jax.lax.stop_gradient(hard)  #! broken-straight-through"
    ),
    "a helper is given both, and subtracts the wrong one": _PROGRAM.format(
        given="hard, soft", result="soft + jax.lax.stop_gradient(soft - hard)  #! broken-straight-through"
    ),
    "a helper that is right": _PROGRAM.format(given="hard, soft", result="hard + soft - jax.lax.stop_gradient(soft)"),
    "what is taken from one is a straight-through value": """
        def left(alpha):
            return 1.0 - alpha

        def rendered(x):
            soft = jax.nn.sigmoid(x)
            alpha = soft + jax.lax.stop_gradient((soft > 0.5).astype(soft.dtype) - soft)
            return jnp.cumprod(left(alpha))

        jax.grad(lambda x: rendered(x).sum())(jnp.ones(3))
        """,
    "what is taken from one is turned around": """
        def left(alpha):
            return 1.0 - alpha  #! broken-straight-through

        def rendered(x):
            soft = jax.nn.sigmoid(x)
            hard = (soft > 0.5).astype(soft.dtype)
            return jnp.cumprod(left(hard + jax.lax.stop_gradient(soft) - soft))

        jax.grad(lambda x: rendered(x).sum())(jnp.ones(3))
        """,
    "a helper that is tried with constants": """
        def passed(x, choose):
            return x - jax.lax.stop_gradient(x) + jax.lax.stop_gradient(choose(x))

        def signs(x):
            return passed(jnp.where(x == 0.0, 1e-6, x), jnp.sign)

        assert signs(jnp.array([1.0, 0.0, -2.0])).sum() == 1.0
        """,
    "what is rounded is a difference": """
        def passed(x, choose):
            return x - jax.lax.stop_gradient(x) + jax.lax.stop_gradient(choose(x))

        jax.grad(lambda x, shift: passed(x - shift, jnp.round).sum(), argnums=(0, 1))(jnp.ones(3), jnp.ones(3))
        """,
    "what is rounded is a difference, and turned around": """
        def passed(x, choose):
            return jax.lax.stop_gradient(x) - x + choose(x)  #! broken-straight-through

        jax.grad(lambda x, shift: passed(x - shift, jnp.round).sum(), argnums=(0, 1))(jnp.ones(3), jnp.ones(3))
        """,
    "a helper is given a part of the sum": """
        def rest(hard, change):
            return hard + change  #! broken-straight-through

        def sample(logits):
            soft = jax.nn.softmax(logits)
            hard = jax.nn.one_hot(jnp.argmax(soft, axis=-1), 4)
            return rest(soft, hard - jax.lax.stop_gradient(hard))

        jax.grad(lambda logits: sample(logits).sum())(jnp.ones(4))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(program):
    assert said(program) == marked(program)
