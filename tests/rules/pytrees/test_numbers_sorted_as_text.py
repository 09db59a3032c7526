"""What `numbers-sorted-as-text` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "items, in an order of their own or by number": """
        def start(key, n):
            return {f"layer_{i}": jax.random.normal(k, (8, 8)) for i, k in enumerate(jax.random.split(key, n))}

        def by_text(params, x):
            for _, w in sorted(params.items()):  #! numbers-sorted-as-text
                x = jnp.tanh(x @ w)
            return x

        def by_number(params, x):
            for name in sorted(params, key=lambda name: int(name.split("_")[1])):
                x = jnp.tanh(x @ params[name])
            return x

        def listed(params):
            return [params[name].mean() for name in sorted(params)]

        def main(key, x):
            params = start(key, 12)
            return by_text(params, x), by_number(params, x), listed(params)
        """,
    "entries as they come, before JAX has sorted them and afterwards": """
        def gates(key, n):
            table = {}
            for i, k in enumerate(jax.random.split(key, n)):  #! unrolled-loop
                table[f"gate_{i}"] = {"w": jax.random.normal(k, (4, 4)), "b": jnp.zeros(4)}
            return table

        def forward(table, state):
            for gate in table.values():  #! numbers-sorted-as-text
                state = gate["w"] @ state + gate["b"]
            return state

        def backwards(table, state):
            for name, gate in reversed(list(table.items())):  #! numbers-sorted-as-text
                state = gate["w"].T @ (state - gate["b"])
            return state

        @jax.jit
        def weight(table):
            total = 0.0
            for gate in table.values():
                total = total + jnp.sum(gate["w"] ** 2)
            return total

        @jax.jit
        def inside(key, state):
            for gate in gates(key, 16).values():
                state = jnp.sin(gate["w"] @ state)
            return state

        def main(key, state):
            keys = jax.random.split(key, 3)
            few, many = gates(keys[0], 8), gates(keys[1], 16)
            first = forward(many, state)
            shrunk = jax.tree.map(lambda one: 0.5 * one, many)
            found = jax.jit(forward)(many, state), backwards(shrunk, state)
            return first, found, jax.jit(forward)(few, state), weight(many), inside(keys[2], state)
        """,
    "all in the order of their text": """
        def start(key):
            return {f"layer_{i}": jax.random.normal(jax.random.fold_in(key, i), (8, 8)) for i in range(12)}

        def run(params, x):
            for w in params.values():  #? numbers-sorted-as-text
                x = jnp.tanh(x @ w)
            return x

        @jax.jit
        def step(params, x):
            slopes = jax.grad(lambda params: jnp.sum(run(params, x) ** 2))(params)
            return jax.tree.map(lambda p, s: p - 0.1 * s, params, slopes)

        def main(key, x):
            params = start(key)
            for _ in range(100):
                params = step(params, x)
            return run(params, x)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
