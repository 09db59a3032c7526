"""What `order-not-restored` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

_RUN = """
        def run(w, xs, reverse=False):
            def body(h, x):
                h = jnp.tanh(x @ w + h)
                return h, h
            return jax.lax.scan(body, jnp.zeros(w.shape[1]), xs, reverse=reverse)[1]
"""

PROGRAMS = {
    "both directions of a sequence": _RUN
    + """
        def encode(w, v, xs):
            there = run(w, xs)
            back = run(v, jnp.flip(xs, axis=0))
            return jnp.concatenate([there, back], axis=-1)  #! order-not-restored

        def summed(w, v, xs):
            return run(w, xs) + run(v, xs[::-1])  #! order-not-restored

        def in_batches(w, v, xs):
            there = jax.vmap(lambda x: run(w, x))(xs)
            back = jax.vmap(lambda x: run(v, x))(xs[:, ::-1])
            return jnp.stack([there, back], axis=-1)  #! order-not-restored

        encode(jnp.ones((2, 4)), jnp.ones((2, 4)), jnp.ones((9, 2)))
        in_batches(jnp.ones((2, 4)), jnp.ones((2, 4)), jnp.ones((5, 9, 2)))
        """,
    "turned back, or with no order": _RUN
    + """
        def encode(w, v, xs):
            back = jnp.flip(run(v, jnp.flip(xs, axis=0)), axis=0)
            return jnp.concatenate([run(w, xs), back, run(v, xs, reverse=True)], axis=-1)

        def last(w, v, xs):
            return jnp.concatenate([run(w, xs), run(v, xs[::-1])], axis=-1)[-1]

        def pooled(w, v, xs):
            return jnp.concatenate([run(w, xs), run(v, xs[::-1])], axis=-1).mean(axis=0)

        def longer(w, v, xs):
            return jnp.concatenate([run(w, xs), run(v, xs[::-1])], axis=0)

        def pairs(w, v, xs):
            return jnp.einsum("td,sd->ts", run(w, xs), run(v, xs[::-1]))

        def mirrored(x):
            return 0.5 * (x + x[::-1])
        """,
    "across a gradient, a map and a record": """
        def returns(rewards):
            step = lambda total, reward: (reward + 0.9 * total,) * 2
            return jax.lax.scan(step, 0.0, rewards[::-1])[1]

        def rollout(key):
            def step(x, key):
                action = jax.random.normal(key)
                return x + action, (x, action, -(x**2))
            return jax.lax.scan(step, 0.0, jax.random.split(key, 20))[1]

        def loss(theta, x, action, reward):
            logp = -((action - theta * x) ** 2)
            return -(logp * jax.vmap(returns)(reward)).mean()  #! order-not-restored

        def right(theta, x, action, reward):
            logp = -((action - theta * x) ** 2)
            return -(logp * jax.vmap(returns)(reward)[:, ::-1]).mean()

        steps = jax.vmap(rollout)(jax.random.split(jax.random.key(0), 8))
        jax.grad(loss)(1.0, *steps), jax.grad(right)(1.0, *steps)

        class Critic:
            def targets(self, rewards):
                return jnp.cumsum(jnp.flip(rewards, axis=1), axis=1)

            def loss(self, w, batch):
                return jnp.mean((batch["seen"] @ w - self.targets(batch["reward"])) ** 2)  #! order-not-restored

        def collected(key):
            step = lambda x, key: (0.9 * x, (x, x.sum(-1)))
            seen, reward = jax.lax.scan(step, jnp.ones((4, 3)), jax.random.split(key, 10))[1]
            return {"seen": jnp.swapaxes(seen, 0, 1), "reward": jnp.swapaxes(reward, 0, 1)}

        jax.grad(Critic().loss)(jnp.ones(3), collected(jax.random.key(0)))
        """,
    "a layer that unrolls a cell": """
        import flax.linen as nn

        class Both(nn.Module):
            @nn.compact
            def __call__(self, x):
                there = nn.RNN(nn.GRUCell(16))(x)
                back = nn.RNN(nn.GRUCell(16))(x[:, ::-1])
                return jnp.concatenate([there, back], axis=-1)  #! order-not-restored

        class Right(nn.Module):
            @nn.compact
            def __call__(self, x):
                there = nn.RNN(nn.GRUCell(16))(x)
                back = nn.RNN(nn.GRUCell(16))(x[:, ::-1])[:, ::-1]
                return jnp.concatenate([there, back], axis=-1)
        """,
    "a loop of Python": """
        def targets(rewards, values):
            out, total = [], values[-1]
            for reward in rewards[::-1]:
                total = reward + 0.99 * total
                out.append(total)
            return jnp.stack(out)

        def loss(values, rewards):
            return jnp.mean((values - targets(rewards, values)) ** 2)  #? order-not-restored

        def right(values, rewards):
            return jnp.mean((values - targets(rewards, values)[::-1]) ** 2)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
