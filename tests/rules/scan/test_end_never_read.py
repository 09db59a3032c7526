"""What `end-never-read` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "an exception that two indices share": """
        def backup(v):
            s = jnp.arange(9)
            up, down = jnp.clip(s + 1, 0, 8), jnp.clip(s - 1, 0, 8)
            value = lambda n: jnp.where(n == 8, 1.0, 0.9 * v[n])
            return value(up) + value(down)

        backup(jnp.ones(9))
        """,
    "a sampler that is called twice": """
        def sample(x, noise):
            kept = jnp.linspace(0.99, 0.5, 20)

            def step(x, t):
                x = x / kept[t]
                return x + jnp.where(t > 0, 0.1, 0.0) * noise, x.mean()

            return jax.lax.scan(step, x, jnp.arange(19, 0, -1))  #! end-never-read

        sample(jnp.ones(3), 1.0)
        sample(jnp.ones(4), 1.0)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
