"""What `end-never-read` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "an exception that two indices share": """
        def backup(v):
            s = jnp.arange(9)
            up, down = jnp.clip(s + 1, 0, 8), jnp.clip(s - 1, 0, 8)
            value = lambda n: jnp.where(n == 8, 1.0, 0.9 * v[n])
            return value(up) + value(down)

        backup(jnp.ones(9))
        """,
    "a sampler that is called twice": """
        def sample(x, noise):
            kept = jnp.linspace(0.99, 0.5, 20)

            def step(x, t):
                x = x / kept[t]
                return x + jnp.where(t > 0, 0.1, 0.0) * noise, x.mean()

            return jax.lax.scan(step, x, jnp.arange(19, 0, -1))  #! end-never-read

        sample(jnp.ones(3), 1.0)
        sample(jnp.ones(4), 1.0)
        """,
    "batches that start one further each": """
        def by_rows(w, xs, ys):
            def body(i, w):
                x = jax.lax.dynamic_slice(xs, (i, 0), (8, 3))  #! end-never-read
                y = jax.lax.dynamic_slice(ys, (i,), (8,))  #! end-never-read
                return w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)

            return jax.lax.fori_loop(0, 8, body, w)

        def in_python(w, xs, size=8):
            for i in range(len(xs) // size):
                w = w - 0.1 * xs[i : i + size].mean(axis=0)  #! end-never-read
            return w

        def mapped(xs):
            chunk = lambda i: jax.lax.dynamic_slice_in_dim(xs, i, 16).sum(axis=0)  #! end-never-read
            return jax.vmap(chunk)(jnp.arange(4))

        by_rows(jnp.zeros(3), jnp.ones((64, 3)), jnp.ones(64))
        in_python(jnp.zeros(3), jnp.ones((64, 3)))
        mapped(jnp.ones((64, 3)))
        """,
    "batches side by side, and windows that slide": """
        def by_rows(w, xs):
            def body(i, w):
                return w + jax.lax.dynamic_slice(xs, (i * 8, 0), (8, 3)).sum(axis=0)

            return jax.lax.fori_loop(0, 8, body, w)

        def in_python(w, xs, size=8):
            for i in range(0, len(xs), size):
                w = w - 0.1 * xs[i : i + size].mean(axis=0)
            return w

        def sliding(xs):
            return jax.lax.map(lambda i: jax.lax.dynamic_slice_in_dim(xs, i, 16).sum(axis=0), jnp.arange(49))

        def first_steps(xs):
            return jax.lax.map(lambda i: jax.lax.dynamic_slice_in_dim(xs, i, 16).sum(axis=0), jnp.arange(10))

        by_rows(jnp.zeros(3), jnp.ones((64, 3)))
        in_python(jnp.zeros(3), jnp.ones((64, 3)))
        sliding(jnp.ones((64, 3)))
        first_steps(jnp.ones((64, 3)))
        """,
    "a recurrence of two terms that stops before the last coefficient": """
        def legendre(c, x):
            def body(k, carry):
                p0, p1, total = carry
                p2 = ((2 * k - 1) * x * p1 - (k - 1) * p0) / k
                return p1, p2, total + c[k] * p2

            return jax.lax.fori_loop(2, c.shape[0] - 1, body, (jnp.ones_like(x), x, c[0] + c[1] * x))[2]  #! end-never-read

        def series(c, x):
            def step(carry, one):
                p0, p1 = carry
                p2 = 2 * x * p1 - p0
                return (p1, p2), one * p2

            _, terms = jax.lax.scan(step, (jnp.ones_like(x), x), c[2:-1])  #! end-never-read
            return c[0] + c[1] * x + terms.sum(0)

        def whole(c, x):
            def step(carry, one):
                p0, p1 = carry
                p2 = 2 * x * p1 - p0
                return (p1, p2), one * p2

            _, terms = jax.lax.scan(step, (jnp.ones_like(x), x), c[2:])
            return c[0] + c[1] * x + terms.sum(0)

        def without_ends(x):
            total = 0.0
            for t in range(1, 8):
                total = total + x[t]
            return total

        without_ends(jnp.ones(9))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
