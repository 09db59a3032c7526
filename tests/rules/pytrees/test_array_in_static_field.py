"""What `array-in-static-field` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a wrapper may make an array hashable": """
        import equinox as eqx

        class Hashed:
            def __init__(self, x):
                self.x = x

        class Net(eqx.Module):
            table: Hashed = eqx.field(static=True)

        def f():
            return Net(Hashed(jnp.ones(3)))
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
