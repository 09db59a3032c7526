"""Regressions whose weights are learned: a variance for each point, a weight for each task, a mixture."""

import jax
import jax.numpy as jnp


def heads(params, x):
    h = jnp.tanh(x @ params["w"])
    return (h @ params["mean"])[:, 0], (h @ params["spread"])[:, 0], h @ params["mix"]


def loss(params, x, y, z):
    mean, log_variance, mix = heads(params, x)
    gaussian = jnp.mean(0.5 * jnp.exp(-log_variance) * (y - mean) ** 2 + 0.5 * log_variance)
    first, second = jnp.mean((mean - y) ** 2), jnp.mean((mean + log_variance - z) ** 2)
    s1, s2 = params["tasks"]
    weighted = jnp.exp(-s1) * first + s1 + jnp.exp(-s2) * second + s2
    components = jnp.stack([y - mean, z - mean], -1)
    mixture = -jnp.mean(jax.nn.logsumexp(jax.nn.log_softmax(mix) - 0.5 * components**2, axis=-1))
    return gaussian + weighted + mixture + 1e-3 * sum(jnp.sum(p**2) for p in jax.tree.leaves(params))


step = jax.jit(jax.grad(loss))


def main():
    k1, k2 = jax.random.split(jax.random.key(0))
    params = {
        "w": jax.random.normal(k1, (3, 8)),
        "mean": jnp.ones((8, 1)),
        "spread": jnp.zeros((8, 1)),
        "mix": jnp.zeros((8, 2)),
        "tasks": jnp.zeros(2),
    }
    x = jax.random.normal(k2, (10, 3))
    print(step(params, x, x[:, 0], x[:, 1])["tasks"])


if __name__ == "__main__":
    main()
