"""What `unannotated-field` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

FIT = """
    from typing import ClassVar
    @struct.dataclass
    class Theta:
        rate: float = 1.0
        {line}
    def fit(t, y):
        def loss(p):
            return jnp.mean((jnp.exp(-p.rate * t) / p.{name} - y) ** 2)
        theta = Theta()
        return jax.tree.map(lambda p, g: p - 0.1 * g, theta, jax.grad(loss)(theta))
"""
PROGRAMS = {
    "no field": FIT.format(line="volume = 20.0  #! unannotated-field", name="volume"),
    "written in capitals": FIT.format(line="VOLUME = 20.0", name="VOLUME"),
    "said to be of the class": FIT.format(line="volume: ClassVar[float] = 20.0", name="volume"),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
