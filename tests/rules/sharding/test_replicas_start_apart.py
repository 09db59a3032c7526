"""What `replicas-start-apart` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a key for each device": """
        def init(key):
            return jax.random.normal(key, (3,))

        def step(w, x, y):
            return w - 0.1 * lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w), "d")

        train = jax.pmap(step, axis_name="d")
        apart = jax.pmap(lambda w, x, y: w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w))
        mean = jax.pmap(lambda v: lax.pmean(v, "d"), axis_name="d")

        def by_pmap(key, batches, n):
            w = jax.pmap(init)(jax.random.split(key, n))  #! replicas-start-apart
            for x, y in batches:
                w = train(w, x, y)
            return w

        def by_vmap(key, batches, n):
            w = jax.vmap(init)(jax.random.split(key, n))  #! replicas-start-apart
            for x, y in batches:
                w = train(w, x, y)
            return w
        """,
    "copies, members that stay apart, and parameters that are put together first": """
        def init(key):
            return jax.random.normal(key, (3,))

        def step(w, x, y):
            return w - 0.1 * lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w), "d")

        train = jax.pmap(step, axis_name="d")
        apart = jax.pmap(lambda w, x, y: w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w))
        mean = jax.pmap(lambda v: lax.pmean(v, "d"), axis_name="d")

        def copies(key, batches, n):
            w = flax.jax_utils.replicate(init(key))
            for x, y in batches:
                w = train(w, x, y)
            return w

        def members(key, batches, n):
            w = jax.vmap(init)(jax.random.split(key, n))
            for x, y in batches:
                w = apart(w, x, y)
            return w

        def first(key, batches, n):
            w = jnp.stack([jax.vmap(init)(jax.random.split(key, n))[0]] * n)
            for x, y in batches:
                w = train(w, x, y)
            return w

        def averaged(key, batches, n):
            w = mean(jax.pmap(init)(jax.random.split(key, n)))
            for x, y in batches:
                w = train(w, x, y)
            return w
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
