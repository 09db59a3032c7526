"""What `carry-out-of-step` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a loss is of the parameters before the step": """
        class Train(NamedTuple):
            params: jax.Array
            n: int

        def loss(params, x):
            return jnp.sum((x @ params) ** 2)

        def init(key, x):
            params = jax.random.normal(key, (3,))
            return Train(params=params, n=0), loss(params, x)

        def train(state, x):
            value = loss(state.params, x)
            params = state.params - 0.1 * jax.grad(loss)(state.params, x)
            return Train(params=params, n=state.n + 1), value

        def train_too(state, x):
            value, gradient = jax.value_and_grad(loss)(state.params, x)
            params = state.params - 0.1 * gradient
            return Train(params=params, n=state.n + 1), value
        """,
    "what leads to the newer state is part of the step": """
        class State(NamedTuple):
            x: jax.Array
            t: int

        def observe(x):
            return jnp.stack([x, x**2])

        def reset(key):
            x = jax.random.normal(key)
            return State(x=x, t=0), observe(x)

        def play(state, policy):
            seen = observe(state.x)
            x = state.x + policy @ seen
            return State(x=x, t=state.t + 1), seen

        def step(state, action):
            x = state.x + action
            return State(x=x, t=state.t + 1), observe(state.x)  #! carry-out-of-step
        """,
    "what a constructor keeps is what it was given": """
        class Adder:
            def __init__(self, client, discount, tables):
                self.client = client
                self.discount = jnp.float32(discount)
                self.tables = tables

        class Builder:
            def __init__(self, config):
                self._config = config

            def make(self, client):
                return Adder(client, self._config.discount, self._config.tables)

        def run(client, rate, tables):
            discount = 1.0 - rate
            return Adder(client, discount, tables), discount
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
