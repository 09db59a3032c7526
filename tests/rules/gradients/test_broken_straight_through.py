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
