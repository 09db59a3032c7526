"""What `in-axes-structure-mismatch` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "axes of static arguments, and lists of axes": """
        @functools.partial(jax.pmap, in_axes=(None, 0), static_broadcasted_argnums=(2,))
        def collect(agent, key, size):
            return agent * key * size

        @functools.partial(jax.pmap, in_axes=(None, 0), static_broadcasted_argnums=(0,))  #! in-axes-structure-mismatch
        def short(size, agent, key):
            return agent * key * size

        def main(agent, keys):
            return collect(agent, keys, 3), short(3, agent, keys)

        def interleaved(x, block):
            x = jnp.reshape(x, x.shape[:-1] + tuple(block) + (-1,))
            axes = (np.arange(2 * len(block)) + 1).reshape(2, -1).ravel(order="F")
            return jnp.transpose(x, (0,) + tuple(axes) + (len(axes) + 1,))
        """,
    "arguments behind others of which nobody knows how many there are": """
        def edges(given, blank):
            return tuple(jnp.atleast_1d(one) for one in given or (blank, blank))

        def push(field, given, blank):
            add = jax.vmap(lambda f, left, right, rate: f + rate * (left - right), in_axes=(0, 0, 0, None))
            both = jax.vmap(lambda f, rate, *rest: f * rate, in_axes=(0, 0))  #! in-axes-structure-mismatch
            return add(field, *edges(given, blank), 0.5) + both(field, 0.5)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
