"""What is known of the leaves of trees that a library copies."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a copy of a model keeps its flags": """
        import equinox as eqx

        class Block(eqx.Module):
            layer: eqx.nn.Linear
            up: bool
            width: int

            def __init__(self, width, up, *, key):
                self.layer = eqx.nn.Linear(width, width, key=key)
                self.up, self.width = up, width

            def __call__(self, x):
                x = 2 * x if self.up else x
                if self.width != 4:
                    x = x + 1
                return self.layer(x)

        class Net(eqx.Module):
            blocks: list
            last: Block

            def __init__(self, widths, *, key):
                keys = jax.random.split(key, len(widths) + 1)
                self.blocks = []
                for i, width in enumerate(widths):
                    self.blocks.append(Block(width, False, key=keys[i]))
                self.last = Block(widths[0], True, key=keys[-1])

            def __call__(self, x):
                if x[0] > 0:  #! python-branch-on-traced
                    x = -x
                for block in self.blocks:
                    x = block(x)
                return self.last(x)

        def loss(model, x):
            return jnp.mean(jax.vmap(model)(x))

        @eqx.filter_jit
        def step(model, x):
            model = eqx.nn.inference_mode(model, False)
            value, gradient = eqx.filter_value_and_grad(loss)(model, x)
            return value, eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, gradient))

        def main(config, key, xs):
            model = Net(config.widths, key=key)
            for x in xs:
                value, model = step(model, x)
            return model
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
