"""What `tuple-leaf-as-tree` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a posterior of pairs that is trained": """
        def start(key):
            shapes = {"w": (2, 8), "b": (8,)}
            keys = jax.random.split(key, len(shapes))
            return {n: (jax.random.normal(k, s), jnp.full(s, -3.0)) for k, (n, s) in zip(keys, shapes.items())}

        def divergence(mean, rho):
            return jnp.sum(jnp.exp(rho) + mean**2)

        def total(posterior):
            return sum(jax.tree.leaves(jax.tree.map(lambda p: divergence(p[0], p[1]), posterior)))  #! tuple-leaf-as-tree

        def whole(posterior):
            pairs = jax.tree.map(lambda p: divergence(*p), posterior, is_leaf=lambda p: isinstance(p, tuple))
            return sum(jax.tree.leaves(pairs))

        def main(key):
            posterior = start(key)
            gradient = jax.grad(total)(posterior)
            return gradient, whole(posterior)
        """,
    "parts of leaves that are no pairs": """
        def first(batch):
            tree = {"a": (jnp.ones((5, 3)), jnp.ones((5, 2))), "b": (jnp.ones(5), jnp.zeros(5))}
            newest = jax.tree.map(lambda x: x[0], tree)
            change = jax.tree.map(lambda x: x[-1] - x[0], tree)
            return newest, change, jax.tree.map(lambda x: (x[0], x.shape), batch)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
