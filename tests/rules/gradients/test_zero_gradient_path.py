"""What `zero-gradient-path` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a module that comes from elsewhere": """
        from elsewhere import numeric

        xnp = numeric()

        def slope(x):
            return jax.grad(lambda x: xnp.sum(x**2))(x)
        """,
    "a comment says that nothing is learned here": """
        def hard(params, x):
            def loss(params):
                density = jax.nn.sigmoid(x @ params["density"])
                solid = (density > 0.5).astype(density.dtype)  # no gradient to the density  #? zero-gradient-path
                return (solid * (x @ params["colour"])).sum()

            return jax.grad(loss)(params)

        def dead(params, x):
            def loss(params):
                density = jax.nn.sigmoid(x @ params["density"])
                solid = (density > 0.5).astype(density.dtype)  #! zero-gradient-path
                return (solid * (x @ params["colour"])).sum()

            return jax.grad(loss)(params)
        """,
    "parameters that a run reads by itself": """
        class Model:
            def forward(self, inputs):
                return inputs * jax.random.normal(hk.next_rng_key(), (3,))

            def __call__(self, params, key, inputs):
                return hk.transform(hk.vmap(self.forward, split_rng=True)).apply(params, key, inputs)

        def loss(params, model, key, x):
            return (model(params, key, x) ** 2).mean()

        def main(params, key, x):
            return jax.grad(loss)(params, Model(), key, x)
        """,
    "parts of a model that its library does not differentiate": """
        from flax import nnx

        class Gate(nnx.Module):
            def __init__(self, rngs):
                self.layer = nnx.Linear(3, 3, rngs=rngs)
                self.threshold = jnp.array(0.5)
                self.seen = nnx.BatchStat(jnp.zeros(3))
                self.cut = nnx.Param(jnp.ones(3))
                self.rates = [0.1 * i for i in range(3)]

            def __call__(self, x):
                kept = jnp.where(x > self.threshold + self.seen.value, self.layer(x), 0.0)
                for rate in self.rates:
                    kept = kept * (kept < rate)
                return kept * (self.cut.value > 0)  #! zero-gradient-path

        class Clipped(eqx.Module):
            layer: eqx.nn.Linear
            low: float
            cut: jax.Array

            def __init__(self, key, low):
                self.layer = eqx.nn.Linear(3, 3, key=key)
                self.low = float(low)
                self.cut = jnp.zeros(3)

            def __call__(self, x):
                return jnp.where(x > self.low, self.layer(x), 0.0) * (self.cut > 0)  #! zero-gradient-path

        def main(key, x, low):
            gate, clipped = Gate(nnx.Rngs(0)), Clipped(key, low)
            first = nnx.grad(lambda model: jnp.mean(model(x)))(gate)
            return first, eqx.filter_grad(lambda model: jnp.mean(model(x)))(clipped)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
