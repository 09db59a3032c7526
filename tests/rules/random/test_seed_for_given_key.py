"""What `seed-for-given-key` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "under a map, in a class": """
        def fixed(key, n):  #! seed-for-given-key
            return jax.random.uniform(jax.random.PRNGKey(0), (n, 2))

        def unwanted(_key, n):
            return jax.random.uniform(jax.random.PRNGKey(0), (n, 2))

        class Task:
            def __init__(self):
                def reset(key):
                    first, second, third = jax.random.split(key, 3)
                    return fixed(first, 3), unwanted(second, 3), jax.random.normal(third)
                self._reset = jax.jit(jax.vmap(reset))

            def reset(self, keys):
                return self._reset(keys)
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
