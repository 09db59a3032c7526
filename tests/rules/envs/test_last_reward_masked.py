"""What `last-reward-masked` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a product with the own flag": """
        def n_step_return(rewards, dones, bootstrap, gamma):
            live = jnp.cumprod(gamma * (1.0 - dones), axis=0)
            total = (live * rewards).sum(axis=0)  #! last-reward-masked
            return total + live[-1] * bootstrap
        """,
    "a product of the flags before": """
        def n_step_return(rewards, dones, bootstrap, gamma):
            live = jnp.cumprod(gamma * (1.0 - dones), axis=0)
            before = jnp.concatenate([jnp.ones_like(live[:1]), live[:-1]])
            total = (before * rewards).sum(axis=0)
            return total + live[-1] * bootstrap
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
