"""What `layouts-disagree` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

_MESH = """
        from jax.sharding import AxisType, PartitionSpec as P

        mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=(AxisType.Explicit, AxisType.Explicit))
        jax.set_mesh(mesh)
"""
PROGRAMS = {
    "weights that are drawn where they live meet in a compiled static method": """
        class Model:
            def __init__(self, key, shape):
                self.weights = {"out": jax.random.normal(key, shape, out_sharding=P("model", None))}

            @staticmethod
            @jax.jit
            def _logits(weights, hidden):
                return hidden @ weights["out"]  #! layouts-disagree

            def __call__(self, hidden):
                return self._logits(self.weights, hidden)

        one, two = jax.random.split(jax.random.key(0))
        hidden = jax.random.normal(two, (8, 32), out_sharding=P("data", "model"))
        print(Model(one, (32, 64))(hidden))
        """,
    "heads that devices do not divide, and heads that they do": """
        def heads(x, count):
            return x.reshape(*x.shape[:2], count, -1)  #! layouts-disagree

        x = jax.device_put(jnp.ones((8, 5, 24)), P("data", None, "model"))
        print(heads(x, 4), heads(x, 6))
        """,
    "pixels of an axis that devices split": """
        class Pool:
            def flat(self, images):
                return jnp.ravel(images)  #! layouts-disagree

            def rows(self, images):
                return images.reshape(images.shape[0] * images.shape[1], -1)

        images = jax.device_put(jnp.ones((4, 6, 8)), P("data", None, "model"))
        print(Pool().flat(images).sum(), Pool().rows(images).sum())
        """,
    "a residual of another layout": """
        class Block:
            def __init__(self, w):
                self.w = jax.device_put(w, P(None, "model"))

            def __call__(self, x):
                return x + self.mix(x)  #! layouts-disagree

            def mix(self, x):
                return jnp.tanh(x @ self.w)

        x = jax.device_put(jnp.ones((8, 16)), P(None, "data"))
        y = jax.jit(Block(jnp.ones((16, 16))))(x)
        """,
    "a product in a helper sums over what both sides split": """
        def attend(q, k):
            return jnp.einsum("bqd,bkd->bqk", q, k)  #! layouts-disagree

        q = jax.device_put(jnp.ones((4, 6, 8)), P("data", None, "model"))
        k = jax.device_put(jnp.ones((4, 6, 8)), P("data", None, "model"))
        y = jax.jit(attend)(q, k)
        """,
    "a counter of rows that a loop begins whole": """
        def total(x):
            return jax.lax.fori_loop(0, 3, lambda i, s: s + x[:, 0], jnp.zeros(x.shape[0]))  #! layouts-disagree

        y = jax.jit(total)(jax.device_put(jnp.ones((8, 5)), P("data", None)))
        """,
    "a table by rows": """
        def embed(params, tokens):
            return jnp.take(params["table"], tokens, axis=0)  #! layouts-disagree

        put = lambda x, *names: jax.device_put(x, P(*names))
        params = {"table": put(jnp.ones((64, 16)), "model", None)}
        y = jax.jit(embed)(params, put(jnp.zeros((8, 5), int), "data", None))
        """,
    "layouts that go together": """
        def layer(x, up, down):
            h = jax.nn.gelu(x @ up)
            return x + jnp.einsum("bf,fd->bd", h, down, out_sharding=P("data", None))

        x = jax.device_put(jnp.ones((8, 16)), P("data", None))
        up = jax.device_put(jnp.ones((16, 32)), P(None, "model"))
        down = jax.device_put(jnp.ones((32, 16)), P("model", None))
        y = jax.jit(layer)(x, up, down)
        z = jax.lax.scan(lambda c, row: (c + row, None), jnp.zeros(16), jax.sharding.reshard(x, P(None, None)))
        """,
}


@pytest.mark.parametrize("program", [_MESH + one for one in PROGRAMS.values()], ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
