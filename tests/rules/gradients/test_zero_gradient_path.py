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
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
