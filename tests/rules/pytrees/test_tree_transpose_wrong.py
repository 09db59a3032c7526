"""What `tree-transpose-wrong` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "an optimizer in a scan, and one that is a method": """
        def adam(carry, g):
            params, mu, nu = carry

            def one(p, m, v, g):
                m = 0.9 * m + 0.1 * g
                v = 0.99 * v + 0.01 * g * g
                return p - m / jnp.sqrt(v + 1e-8), m, v

            params, mu, nu = jax.tree_util.tree_map(one, params, mu, nu, g)  #! tree-transpose-wrong
            return (params, mu, nu), None

        def run(params, gs):
            start = jax.tree.map(jnp.zeros_like, params)
            return jax.lax.scan(adam, (params, start, start), gs)

        class Momentum:
            def update(self, params, velocity, grads):
                out = jax.tree.map(lambda p, v, g: (p - 0.1 * v, 0.9 * v + g), params, velocity, grads)
                params, velocity = out  #! tree-transpose-wrong
                return params, velocity
        """,
    "trees that are seen": """
        from typing import NamedTuple

        class Params(NamedTuple):
            w: jax.Array
            b: jax.Array

        def bounds(g):
            params = {"a": jnp.ones(2), "b": jnp.ones(2)}
            low, high = jax.tree.map(lambda p: (p - g, p + g), params)  #! tree-transpose-wrong
            return low, high

        def averaged(g):
            params, mean = Params(jnp.ones((2, 3)), jnp.ones(3)), Params(jnp.zeros((2, 3)), jnp.zeros(3))
            params, mean = jax.tree.map(lambda p, e: (p - g, 0.9 * e + 0.1 * p), params, mean)  #! tree-transpose-wrong
            return params, mean
        """,
    "one part at a time, and a tuple of trees": """
        def apart(params, m, grads):
            pairs = jax.tree.map(lambda p, m, g: (p - g, m + g), params, m, grads)
            is_pair = lambda x: isinstance(x, tuple)
            params = jax.tree.map(lambda t: t[0], pairs, is_leaf=is_pair)
            m = jax.tree.map(lambda t: t[1], pairs, is_leaf=is_pair)
            return params, m

        def together(params, m, grads):
            params, m = jax.tree.map(lambda a, b: a - b, (params, m), (grads, grads))
            return params, m
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
