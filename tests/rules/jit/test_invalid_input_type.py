"""What `invalid-input-type` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "text inside a dict of settings": """
        @jax.jit
        def loss(x, settings):
            return x.sum() * settings["scale"]

        def main(x):
            return loss(x, {"scale": 2.0, "kind": "mse"})  #! invalid-input-type
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
