"""What `combined-with-itself` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "exchanges that read what they have changed": """
        def exchange(key, states, energy):
            i = jax.random.randint(key, (), 0, states.shape[0] - 1)
            j = i + 1
            accept = energy(states[i]) > energy(states[j])
            states = states.at[i].set(jnp.where(accept, states[j], states[i]))
            states = states.at[j].set(jnp.where(accept, states[i], states[j]))  #! combined-with-itself
            return states

        def exchange_right(key, states, energy):
            i = jax.random.randint(key, (), 0, states.shape[0] - 1)
            j = i + 1
            accept = energy(states[i]) > energy(states[j])
            cold, hot = states[i], states[j]
            states = states.at[i].set(jnp.where(accept, hot, cold))
            return states.at[j].set(jnp.where(accept, cold, hot))

        def bubble(x):
            def body(i, x):
                swap = x[i] > x[i + 1]
                x = x.at[i].set(jax.lax.select(swap, x[i + 1], x[i]))
                x = x.at[i + 1].set(jax.lax.select(swap, x[i], x[i + 1]))  #! combined-with-itself
                return x

            return jax.lax.fori_loop(0, x.shape[0] - 1, body, x)

        def cross(population, mask):
            mum, dad = population[0], population[1]
            mum = jnp.where(mask, dad, mum)
            dad = jnp.where(mask, mum, dad)  #! combined-with-itself
            return jnp.stack([mum, dad])

        def sort(a, b):
            a = jnp.minimum(a, b)
            b = jnp.maximum(a, b)  #! combined-with-itself
            return a, b

        def rows(m, i, j):
            m = m.at[i, :].set(m[j, :])
            return m.at[j, :].set(m[i, :])  #! combined-with-itself

        jax.jit(rows)(jnp.ones((3, 3)), 0, 1)
        """,
    "what is read was not changed, or in another way": """
        def lift(x, i, j):
            x = x.at[i].set(x[i] + x[j])
            return x.at[j].set(x[j] - x[i])

        def several(x, a, b):
            x = x.at[a].set(x[b])
            return x.at[b].set(x[a])

        def two(c, d, a, b):
            a = jnp.where(c, b, a)
            return a, jnp.where(d, a, b)

        def sort(a, b):
            return jnp.minimum(a, b), jnp.maximum(a, b)

        jax.jit(several)(jnp.ones(4), jnp.array([0, 1]), jnp.array([1, 2]))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
