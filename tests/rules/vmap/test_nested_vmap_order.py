"""What `nested-vmap-order` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAM = """
    def train(rate, seed):
        return jnp.sum((rate - seed) ** 2)

    class Sweep:
        def __init__(self, rates, seeds):
            self.rates, self.seeds = jnp.asarray(rates), jnp.asarray(seeds)

        @cached_property
        def table(self):
            over_rates = jax.vmap(train, in_axes=(0, None))
            return jax.jit(jax.vmap(over_rates, in_axes=(None, 0)))(self.rates, self.seeds)

        def best(self):
            winner = int(jnp.argmin(self.table.mean(axis={axis})))
            return float(self.rates[winner]){mark}

    print(Sweep([0.1, 0.3], [1.0, 2.0]).best())
    """

PROGRAMS = {
    "a number of Python that counts seeds picks a rate": PROGRAM.format(axis=1, mark="  #! nested-vmap-order"),
    "a number of Python that counts rates picks a rate": PROGRAM.format(axis=0, mark=""),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
