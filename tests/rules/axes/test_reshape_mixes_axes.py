"""What `reshape-mixes-axes` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "tiles that are laid out again, of any size and behind a layer": """
        PIXELS, PATCH = 32, 4
        SIDE = PIXELS // PATCH

        def cut(images):
            b, h, w, c = images.shape
            x = images.reshape(b, h // PATCH, PATCH, w // PATCH, PATCH, c)
            return x.transpose(0, 1, 3, 2, 4, 5).reshape(b, -1, PATCH * PATCH * c)

        def wrong(tokens):
            x = tokens.reshape(tokens.shape[0], SIDE, PATCH, SIDE, PATCH, 3)  #! reshape-mixes-axes
            return x.reshape(tokens.shape[0], PIXELS, PIXELS, 3)

        def right(tokens):
            x = tokens.reshape(tokens.shape[0], SIDE, SIDE, PATCH, PATCH, 3).transpose(0, 1, 3, 2, 4, 5)
            return x.reshape(tokens.shape[0], PIXELS, PIXELS, 3)

        def by_row(tokens):
            return tokens.reshape(tokens.shape[0], SIDE, SIDE, -1).mean(2)

        class Net(nn.Module):
            @nn.compact
            def __call__(self, tokens):
                x = nn.gelu(nn.Dense(24)(tokens))
                return nn.Dense(tokens.shape[-1])(nn.LayerNorm()(x))

        def main(params):
            tokens = cut(jnp.ones((2, PIXELS, PIXELS, 3)))
            made = Net().apply(params, tokens)
            return wrong(made), right(made), by_row(made)
        """,
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
    "patches that are put together crosswise": """
        def patches(x, p):
            b, h, w, c = x.shape
            x = x.reshape(b, h // p, p, w // p, p, c).transpose(0, 1, 3, 2, 4, 5)
            return x.reshape(b, (h // p) * (w // p), p * p * c)

        def wrong(x, p):
            b, h, w, c = x.shape
            x = patches(x, p).reshape(-1, h // p, w // p, p, p, c)
            return jnp.einsum("bhwpqc->bhqwpc", x).reshape(-1, h, w, c)  #! reshape-mixes-axes

        def right(x, p):
            b, h, w, c = x.shape
            x = patches(x, p).reshape(-1, h // p, w // p, p, p, c)
            return jnp.einsum("bhwpqc->bhpwqc", x).reshape(-1, h, w, c)

        wrong(jnp.ones((2, 16, 16, 1)), 4)
        right(jnp.ones((2, 16, 16, 1)), 4)
        """,
    "patches of any size": """
        def patches(x):
            b, h, w, c = x.shape
            x = x.reshape(b, h // 4, 4, w // 4, 4, c).transpose(0, 1, 3, 2, 4, 5)
            return x.reshape(b, (h // 4) * (w // 4), 16 * c)

        def wrong(x):
            b, h, w, c = x.shape
            x = patches(x).reshape(b, h // 4, w // 4, 4, 4, c)
            return jnp.transpose(x, (0, 1, 4, 2, 3, 5)).reshape(b, h, w, c)  #! reshape-mixes-axes

        def right(x):
            b, h, w, c = x.shape
            x = patches(x).reshape(b, h // 4, w // 4, 4, 4, c)
            return jnp.transpose(x, (0, 1, 3, 2, 4, 5)).reshape(b, h, w, c)
        """,
    "parts that change places on purpose": """
        def shuffled(x, g):
            b, h, w, c = x.shape
            return x.reshape(b, h, w, g, c // g).swapaxes(3, 4).reshape(b, h, w, c)

        def turned(x, p):
            b, h, w, c = x.shape
            x = x.reshape(b, h // p, p, w // p, p, c).transpose(0, 3, 4, 1, 2, 5)
            return x.reshape(b, w, h, c)

        def stretched(x, r):
            b, h, w, c = x.shape
            x = x.reshape(b, h, w, r, r, c // (r * r)).transpose(0, 1, 3, 2, 4, 5)
            return x.reshape(b, h * r, w * r, c // (r * r))

        def windows(x, s):
            b, h, w, c = x.shape
            x = x.reshape(b, h // s, s, w // s, s, c)
            return x.transpose(0, 1, 3, 2, 4, 5).reshape(-1, s * s, c)

        def partly(rho, a, b):
            return rho.reshape(a, b, a, b).transpose(0, 3, 2, 1).reshape(a * b, a * b)  #? reshape-mixes-axes

        shuffled(jnp.ones((2, 8, 8, 6)), 3)
        turned(jnp.ones((2, 8, 8, 6)), 2)
        stretched(jnp.ones((2, 8, 8, 4)), 2)
        windows(jnp.ones((2, 8, 8, 4)), 2)
        partly(jnp.ones((6, 6)), 2, 3)
        """,
    "planes that a convolution leaves as large as they were": """
        def blur(image, taps):
            padded = jnp.pad(image, taps.shape[0] // 2, mode="reflect")
            rows = jax.vmap(lambda row: jnp.convolve(row, taps, mode="valid"))(padded)
            return jax.vmap(lambda one: jnp.convolve(one, taps, mode="valid"), in_axes=1, out_axes=1)(rows)

        def wrong(image, taps):
            return jax.vmap(blur, in_axes=(-1, None))(image, taps).reshape(image.shape)  #! reshape-mixes-axes

        def right(image, taps):
            return jax.vmap(blur, in_axes=(-1, None), out_axes=-1)(image, taps).reshape(image.shape)

        wrong(jnp.ones((48, 32, 3)), jnp.ones(7))
        right(jnp.ones((48, 32, 3)), jnp.ones(7))
        """,
    "a reshape that takes an axis of one away": """
        def without_heads(latent):
            b, l, _, width = latent.shape
            return latent.reshape(b, l, width)
        """,
    "sizes that are counted from the start, and from the end": """
        def rows(x):
            return x.reshape(x.shape[0], -1, x.shape[-1])

        def kept(x):
            return x.reshape((x.shape[0], x.shape[1], -1, x.shape[-2], x.shape[-1]))

        def exchanged(x):
            return x.reshape(x.shape[-1], x.shape[0])  #! reshape-mixes-axes

        def turned(x):
            return x.reshape(x.shape[0], x.shape[-1], x.shape[-2])  #! reshape-mixes-axes
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
