"""What `silent-broadcast` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a loss that broadcasts lines its arrays up from the back": """
        def loss(n_steps, n_particles):
            predicted = jnp.ones((n_steps, n_particles))
            returns = jnp.array([jnp.ones((n_steps, n_particles))])
            return optax.huber_loss(predicted, returns).sum()

        def wrong(n_steps, n_particles):
            predicted = jnp.ones((3, n_steps, n_particles))
            returns = jnp.ones(n_steps)
            return optax.huber_loss(predicted, returns).sum()  #! silent-broadcast

        loss(20, 10)
        wrong(10, 10)
        """,
    "batches that a generator cuts out of NumPy data": """
        import numpy as np
        from flax import nnx

        class Net(nnx.Module):
            def __init__(self, rngs):
                self.inner = nnx.Linear(4, 1, rngs=rngs)
                self.mean = nnx.Param(jnp.array(3.0))

            def __call__(self, x):
                return self.mean[...] + self.inner(x)

        def batches(data, size, rng, whole):
            order = rng.permutation(len(data["y"]))
            for i in range(0, len(order) - size + 1 if whole else len(order), size):
                yield {k: v[order[i : i + size]] for k, v in data.items()}

        def pieces(x, y, size):
            for start in range(0, len(x), size):
                take = np.arange(len(x))[start : start + size]
                yield x[take], y[take]

        def by_rows(model, x, y):
            return jnp.mean((model(x) - y) ** 2)  #! silent-broadcast

        def by_entry(model, batch):
            return jnp.mean((model(batch["x"]) - batch["y"]) ** 2)  #! silent-broadcast

        def right(model, batch):
            return jnp.mean((model(batch["x"])[..., 0] - batch["y"]) ** 2)

        def main():
            rng, model = np.random.default_rng(0), Net(nnx.Rngs(0))
            data = {"x": rng.normal(size=(500, 4)), "y": rng.normal(size=500)}
            cut = int(0.9 * len(data["y"]))
            train = {k: v[:cut] for k, v in data.items()}
            for batch in batches(train, 32, rng, True):
                print(by_entry(model, batch), right(model, batch))
            for x, y in pieces(data["x"], data["y"], 32):
                print(by_rows(model, x, y))

        main()
        """,
    "two reductions of one array, one of which has kept its axis": """
        def ratio(x):
            peak = jnp.max(jnp.abs(x), axis=1, keepdims=True)
            noise = jnp.std(x, axis=1)
            return 20 * jnp.log10(peak / noise)  #! silent-broadcast

        def entropy(logits):
            z = logits - jnp.mean(logits, axis=-1, keepdims=True)
            total = jnp.sum(jnp.exp(z), axis=-1, keepdims=True)
            return total * jnp.max(z, axis=-1)  #! silent-broadcast

        def mapped(batch):
            return jax.vmap(lambda x: x.mean(axis=1, keepdims=True) / x.std(axis=1))(batch)  #! silent-broadcast

        def leading(x):
            return x.mean(0, keepdims=True) / x.std(0)

        def alone(x):
            top = jnp.max(x, axis=-1, keepdims=True)
            return (top + jnp.log(jnp.sum(jnp.exp(x - top), axis=-1)))[0]

        def pairs(x):
            squares = jnp.sum(x * x, axis=1, keepdims=True)
            lengths = jnp.linalg.norm(x, axis=1)
            return squares + lengths**2 - 2 * x @ x.T

        def of_two(x, w):
            return x.sum(1, keepdims=True) + (w @ x).max(1)
        """,
    "a row that was computed of the very column that it meets": """
        def predict(w, t):
            features = jnp.stack([t, t**2], axis=-1)
            return jnp.tanh(features @ w) @ jnp.ones(8)

        def reference(t):
            return 0.3 * jnp.log1p(t) - 0.1 * t

        def misfit(w, grid):
            gap = predict(w, jnp.squeeze(grid, -1)) - reference(grid)  #! silent-broadcast
            return jnp.sum(jnp.abs(gap))

        def slopes(w, grid):
            def field(t):
                return jnp.sin(w[0, 0] * t)

            residual = jax.vmap(jax.grad(field))(grid[:, 0]) + reference(grid)  #! silent-broadcast
            return jnp.mean(residual**2)

        def matched(w, grid):
            t = grid[:, 0]
            return jnp.mean((predict(w, t) - reference(t)) ** 2)

        def spread(grid):
            return jnp.mean(jnp.exp(-((grid - grid[:, 0]) ** 2)))

        def table(w, grid):
            return reference(grid) * predict(w, grid[:, 0])

        def main():
            w, grid = jnp.ones((2, 8)), jnp.linspace(0.0, 5.0, 40)[:, None]
            return misfit(w, grid), slopes(w, grid), matched(w, grid), spread(grid), table(w, grid)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
