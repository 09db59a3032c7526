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
    "formulas and intervals": """
        def length(x1, x2, y1, y2):
            a = jnp.linalg.norm(jnp.stack([x2 - x1, y2 - y1])) ** 2  # (x2-x1)^2+(y2-y1)^2
            return a

        def scaled(images):
            images = jnp.ones((10, 1, 8, 8)) * images
            images = (images - images.min()) / (images.max() - images.min())  # ... -> [0, 1]
            return images

        def summed():
            x = jnp.ones((3, 4))
            y = x.sum(axis=0)  # (b, t)  #? stale-shape-comment
            return y
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
