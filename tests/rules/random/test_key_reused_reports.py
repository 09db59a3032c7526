"""What `key-reused` says of keys that were drawn from and are split for a report or a loss."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "an evaluation that splits the key of the data and is only reported": """
        @jax.jit
        def loss(w, key, x):
            first, second = jax.random.split(key)
            scale = jax.random.uniform(first, (3,))
            return jnp.mean((x * scale + jax.random.normal(second, (3,)) - w) ** 2)

        def main(w, seed):
            x = jax.random.normal(seed, (3,))
            print(float(loss(w, seed, x)))  #? key-reused
        """,
    "a loss that splits the key of the data and is learned from": """
        def loss(w, key, x):
            first, second = jax.random.split(key)
            scale = jax.random.uniform(first, (3,))
            return jnp.mean((x * scale + jax.random.normal(second, (3,)) - w) ** 2)

        def main(w, key):
            x = jax.random.normal(key, (3,))
            return w - jax.grad(loss)(w, key, x)  #! key-reused
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
