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
    "a line that is read in two ways": """
        class Setup:
            def __init__(self, x):
                self.fields = jnp.exp(x)

        def output(names, old):
            fields = jnp.sum(old) * len(names)
            return fields

        def general(setup):
            return jnp.tanh(setup.fields)

        def read(names, setup):
            first = general(setup)
            fields = output(names, setup.fields * 1.0)
            return first, fields, setup

        def by_default(names, x):
            return read(names, Setup(x))

        def by_setup(names, setup):
            return read(names, setup)
        """,
    "a step that is called": """
        class State(NamedTuple):
            x: jax.Array
            t: int

        def observe(state):
            return jnp.stack([state.x, state.x**2])

        def reset(key):
            state = State(x=jax.random.normal(key), t=0)
            return observe(state), state

        def step(state, action):
            new = State(x=state.x + action, t=state.t + 1)
            return observe(state), new  #! carry-out-of-step

        def run(state, action):
            return step(state, action)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
