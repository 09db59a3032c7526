"""Implicit Euler, uncertainty weights and a leaf that only sampling reads: all meant so."""

import jax
import jax.numpy as jnp


def state(params, t):
    return jnp.tanh(t[:, None] @ params["w1"]) @ params["w2"]


def rhs(params, u):
    return jnp.tanh(u @ params["f"])


def loss(params, t, before, other):
    u = state(params, t)
    step = jnp.mean((u - 0.1 * rhs(params, u) - before) ** 2)
    fit = jnp.mean((u - before) ** 2)
    extra = jnp.mean((state(params, t + 1.0) - other) ** 2)
    s = jnp.log1p(jnp.exp(params["s"]))
    return step + fit + jnp.exp(-s) * jnp.mean((u - other) ** 2) + s + extra


@jax.jit
def sample(params, key):
    return jnp.exp(params["log_std"]) * jax.random.normal(key, (3,))


@jax.jit
def train(params, t, before, other):
    grads = jax.grad(loss)(params, t, before, other)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def main():
    keys = jax.random.split(jax.random.key(0), 4)
    params = {
        "w1": jax.random.normal(keys[0], (1, 8)),
        "w2": jax.random.normal(keys[1], (8, 2)),
        "f": jax.random.normal(keys[2], (2, 2)),
        "s": jnp.zeros(()),
        "log_std": jnp.zeros(()),
    }
    t = jnp.linspace(0.0, 1.0, 5)
    params = train(params, t, jnp.ones((5, 2)), jnp.zeros((5, 2)))
    print(sample(params, keys[3]))


if __name__ == "__main__":
    main()
