"""What `none-leaf` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "None on both sides": """
        @struct.dataclass
        class Layer:
            kernel: jax.Array
            bias: jax.Array | None
        def main(x):
            a, b = Layer(x, None), Layer(x + 1, None)
            c = Layer(x, jnp.ones(3))
            d = jax.tree.map(lambda p, q: p if q is None else p + q, c, a)
            e = jax.tree.map(lambda p, q: p if q is None else p + q, c, b, is_leaf=lambda x: x is None)
            return jax.tree.map(lambda p, q: p + q, a, b), d, e
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
