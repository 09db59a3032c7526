"""What `module-state-mishandled` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a module that is not differentiated may hold functions": """
        import equinox as eqx

        def f(key, x):
            model = eqx.nn.MLP(2, 2, 8, 1, key=key)
            return jax.grad(lambda x, model: model(x).sum())(x, model)
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
