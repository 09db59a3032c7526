"""What `silent-broadcast` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a loss that broadcasts lines its arrays up from the back": """
        def loss(n_steps, n_particles):
            predicted = jnp.ones((n_steps, n_particles))
            returns = jnp.array([jnp.ones((n_steps, n_particles))])
            return optax.huber_loss(predicted, returns).sum()

        def wrong(n_steps, n_particles):
            predicted = jnp.ones((3, n_steps, n_particles))
            returns = jnp.ones(n_steps)
            return optax.huber_loss(predicted, returns).sum()  #! silent-broadcast

        loss(20, 10)
        wrong(10, 10)
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
