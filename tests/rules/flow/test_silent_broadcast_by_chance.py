"""What `silent-broadcast` says of axes whose sizes agree by chance, and of vectors that meet square matrices."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "one slope for each head": """
        def slopes(heads):
            return 0.5 ** jnp.arange(1, heads + 1)

        def wrong(q, k, heads):
            pos = jnp.arange(q.shape[0])
            distance = pos[:, None] - pos[None, :]
            bias = slopes(heads)[:, None] * distance  #! silent-broadcast
            return jnp.einsum("qhd,khd->hqk", q, k) + bias

        def right(q, k, heads):
            pos = jnp.arange(q.shape[0])
            distance = pos[:, None] - pos[None, :]
            return jnp.einsum("qhd,khd->hqk", q, k) + slopes(heads)[:, None, None] * distance

        def main():
            heads, context = 8, 8
            tokens = jnp.ones((context + 1, heads, 4))
            wrong(tokens[:-1], tokens[:-1], heads)
            right(tokens[:-1], tokens[:-1], heads)

        main()
        """,
    "a name from elsewhere": """
        CHAINS = 10

        def tempered(energies, temps):
            return jnp.exp(-jnp.linspace(0.1, 1.0, temps) * energies)  #! silent-broadcast

        def right(energies, temps):
            return jnp.exp(-jnp.linspace(0.1, 1.0, temps)[:, None] * energies)

        def run(temps=10):
            energies = jax.random.normal(jax.random.key(0), (temps, CHAINS))
            return tempered(energies, temps), right(energies, temps)

        run()
        """,
    "noise for each measurement": """
        def fit(x, y, noise):
            k = jnp.exp(-0.5 * jnp.square(x[:, None] - x[None]))
            l = jnp.linalg.cholesky(k + noise + 1e-6 * jnp.eye(x.shape[0]))  #! silent-broadcast
            return jax.scipy.linalg.cho_solve((l, True), y)

        def newton(w, x, y, precision):
            p = jax.nn.sigmoid(x @ w)
            h = x.T @ (x * (p * (1 - p))[:, None]) + precision  #! silent-broadcast
            return w - jnp.linalg.solve(h, x.T @ (p - y))

        fit(jnp.ones(20), jnp.ones(20), jnp.ones(20))
        newton(jnp.zeros(5), jnp.ones((30, 5)), jnp.ones(30), jnp.ones(5))
        """,
    "on the diagonal, or along both axes": """
        def fit(x, noise):
            k = jnp.exp(-0.5 * jnp.square(x[:, None] - x[None]))
            first = jnp.linalg.cholesky(k + jnp.diag(noise))
            second = jnp.linalg.cholesky(k + noise * jnp.eye(x.shape[0]))
            third = jnp.linalg.cholesky(k * noise * noise[:, None] + jnp.eye(x.shape[0]))
            return first, second, third

        def centred(k):
            m = k.mean(axis=0)
            return jnp.linalg.eigh(k - m - m[:, None] + k.mean())

        def squared(x):
            n = jnp.sum(x * x, axis=1)
            return jnp.linalg.eigh(n[:, None] + n - 2 * x @ x.T)

        def from_modes(v, w):
            return jnp.linalg.cholesky((v * w) @ v.T)

        def weighed(x, w, y):
            return jnp.linalg.solve((x.T @ x) * w, y)

        fit(jnp.ones(20), jnp.ones(20))
        centred(jnp.ones((6, 6)))
        squared(jnp.ones((6, 3)))
        from_modes(jnp.ones((6, 6)), jnp.ones(6))
        weighed(jnp.ones((6, 5)), jnp.ones(5), jnp.ones(5))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
