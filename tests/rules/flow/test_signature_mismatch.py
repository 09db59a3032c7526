"""What `signature-mismatch` and its kin find in programs, and what they leave alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "super() begins at the class that defines the method, whoever inherits it": """
        class Saved:
            def __init__(self, config, name, kind):
                self.name = name

        class Model(Saved):
            def __init__(self, *, config, name):
                super().__init__(config, name, 3)
                self.build()

            def build(self):
                pass

        class Actor(Model):
            def build(self):
                self.scale = jnp.ones(3)
        """,
    "what ** brings is for the branch that is taken": """
        def flow(gdot, stress, **options):
            return gdot * stress

        def startup(times, stress, gdot):
            return times * stress * gdot

        def fit(mode, x, y, **options):
            if mode() == "flow":
                return flow(x, y, **options)
            return startup(x, y, **options)

        def main(mode, x, y):
            return fit(mode, x, y, gdot=1.0)
        """,
    "a method that subclasses have to write has their parameters": """
        class Loss:
            def loss(self):
                raise NotImplementedError

            def slope(self, params, batch):
                return jax.grad(self.loss)(params, batch)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
