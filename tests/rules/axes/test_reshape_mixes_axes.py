"""What `reshape-mixes-axes` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a shift by two reshapes": """
        def shift(x, k):
            b, n = x.shape[0], x.shape[1]
            q, m = x.shape[2], (x.shape[3] + 1) // 2
            x = jnp.concatenate([jnp.zeros((b, n, q, k)), x], axis=3)
            x = x.reshape(b, n, 2 * m - 1 + k, q)
            x = x[:, :, k:, :]
            return x.reshape(b, n, q, m * 2 - 1)
        """,
    "an order of axes that is not the one a branch asks for": """
        class Attention:
            def __init__(self, order=(0, 1, 2, 3)):
                self.order = order

            def product(self, query, key, mode):
                b, t, n, d = query.shape
                if mode == "train" or self.order == (0, 1, 2, 3):
                    return jnp.reshape(query, (b, t, n // 2, 2, d))
                if self.order == (0, 2, 1, 3):
                    query = jnp.transpose(query, axes=self.order)
                    return jnp.reshape(query, (b, n // 2, 2, t, d))
                return query

        def main(query, key, mode):
            return Attention().product(query, key, mode)

        def wrong(query):
            b, t, n, d = query.shape
            return jnp.reshape(query, (b, n // 2, 2, t, d))  #! reshape-mixes-axes
        """,
    "a shift of rows by two reshapes": """
        def shifted(x):
            b, h, q, k = x.shape
            x = jnp.pad(x, [[0, 0], [0, 0], [0, 0], [1, 0]])
            x = jnp.reshape(x, [b, h, k + 1, q])[:, :, 1:, :]
            return jnp.reshape(x, [b, h, q, k])

        def mixed(x):
            b, h, q, k = x.shape
            return jnp.reshape(x, [b, h, k, q])  #! reshape-mixes-axes
        """,
    "a reshape that takes an axis of one away": """
        def without_heads(latent):
            b, l, _, width = latent.shape
            return latent.reshape(b, l, width)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
