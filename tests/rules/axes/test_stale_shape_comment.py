"""What `stale-shape-comment` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "names of the items of a vector": """
        def place(i):
            at = jnp.array([i % 7, i // 7])  # [x, y]
            return at
        """,
    "a field that is taken for one that the code makes": """
        class Observation(NamedTuple):
            grid: jax.Array

        def observe(n):
            return Observation(jnp.zeros((8, 3)))

        def embed(observation: Observation):
            grid = observation.grid * 2.0  # (B, rows, columns)
            return grid

        def sure():
            grid = jnp.zeros((8, 3)) * 2.0  # (B, rows, columns)  #? stale-shape-comment
            return grid
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
