"""Vectors that are compared have the length one along the axis of their components, whatever scales the comparison."""

import pytest
from rules.programs import marked, said

_TOWERS = """
        def project(x):
            return hk.Linear(6)(jax.nn.relu(hk.Linear(16)(x)))

        net = hk.without_apply_rng(hk.transform(project))

        def unit(z):
            return z * lax.rsqrt(jnp.sum(z**2, axis={axis}, keepdims=True) + 1e-12){mark}

        def loss(params, first, second, temperature=0.1):
            a, b = unit(net.apply(params, first)), unit(net.apply(params, second))
            scores = jnp.einsum("id,jd->ij", a / temperature, b)
            return optax.softmax_cross_entropy_with_integer_labels(scores, jnp.arange(first.shape[0])).mean()

        x = jnp.ones((12, 6))
        loss(net.init(random.PRNGKey(0), x), x, x)
"""
_MEMORY = """
        class Memory(eqx.Module):
            keys: jax.Array
            sharpness: jax.Array

            def read(self, queries):
                keys = self.keys / jnp.linalg.norm(self.keys, axis=1, keepdims=True)
                queries = queries / jnp.linalg.norm(queries, axis={axis}, keepdims=True){mark}
                return jax.nn.softmax(self.sharpness * (self.sharpness * queries) @ keys.T, axis=-1)

        Memory(jnp.ones((20, 8)), jnp.ones(())).read(jnp.ones((5, 8)))
"""
_WRONG = "  #! reduction-over-wrong-axis"
PROGRAMS = {
    "over the batch, and divided by a temperature": _TOWERS.format(axis=0, mark=_WRONG),
    "over the components, and divided by a temperature": _TOWERS.format(axis=-1, mark=""),
    "over the queries, and sharpened": _MEMORY.format(axis=0, mark=_WRONG),
    "over the components, and sharpened": _MEMORY.format(axis=1, mark=""),
    "features that are whitened and correlated over the batch": """
        def twins(a, b):
            a, b = (z / jnp.linalg.norm(z, axis=0, keepdims=True) for z in (a, b))
            return jnp.argmax((0.5 * a).T @ b, axis=-1)

        twins(jnp.ones((12, 6)), jnp.ones((12, 6)))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert [one for one in said(program) if one[1] == "reduction-over-wrong-axis"] == marked(program)
