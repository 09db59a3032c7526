"""What `swapped-results` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "one entry of the carry takes the whole dict": """
        def run(position, momentum, keys):
            def body(carry, key):
                position = carry["position"] + carry["momentum"]
                return {"position": position, "momentum": carry["momentum"] * key}, position
            position, _ = jax.lax.scan(  #? swapped-results
                body, {"position": position, "momentum": momentum}, keys
            )
            return position
        """,
    "one field of the carry takes the whole record": """
        class Phase(NamedTuple):
            position: jax.Array
            momentum: jax.Array

        def run(position, momentum, keys):
            def body(phase, key):
                return Phase(phase.position + phase.momentum, phase.momentum * key), phase.position
            position, _ = jax.lax.scan(body, Phase(position, momentum), keys)  #? swapped-results
            return position
        """,
    "one field takes a tuple of all, behind a helper": """
        class Phase(NamedTuple):
            position: jax.Array
            momentum: jax.Array

        def integrate(start, keys):
            def body(phase, key):
                return Phase(phase.position + phase.momentum, phase.momentum * key), phase.position
            last, path = jax.lax.scan(body, start, keys)
            return (last.position, last.momentum), path

        def run(position, momentum, keys):
            position, path = integrate(Phase(position=position, momentum=momentum), keys)  #? swapped-results
            return position, path
        """,
    "each entry takes its own successor": """
        def run(position, momentum, keys):
            def body(carry, key):
                position = carry["position"] + carry["momentum"]
                return {"position": position, "momentum": carry["momentum"] * key}, position
            last, _ = jax.lax.scan(body, {"position": position, "momentum": momentum}, keys)
            position, momentum = last["position"], last["momentum"]
            return position, momentum
        """,
    "a state that is a tuple becomes what a library gives, beside a tuple of other things": """
        def train(tx, params, x):
            def step(params, state):
                updates, state = tx.update(jax.grad(lambda p: ((x @ p) ** 2).sum())(params), state)
                return params + updates, state, (updates.sum(), jnp.abs(updates).max())

            state = (params, jnp.zeros(3))
            params, state, metrics = step(params, state)
            print(metrics)
            return params, state
        """,
    "a state of two parts goes in beside two others": """
        def cell(given):
            hidden, memory = given["state"]
            hidden = jnp.tanh(given["x"] * given["scale"] + hidden)
            return (hidden, memory + hidden), hidden

        def run(state, x, scale):
            state, out = cell({"state": state, "x": x, "scale": scale})
            return state, out
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
