"""A VAE with free bits: the divergence of each dimension is free below a floor."""

import jax
import jax.numpy as jnp
import optax

FREE = 0.1


def encode(params, x):
    h = jnp.tanh(x @ params["encoder"])
    return h @ params["mean"], h @ params["log_var"]


def loss(params, x, key):
    mean, log_var = encode(params, x)
    z = mean + jnp.exp(0.5 * log_var) * jax.random.normal(key, mean.shape)
    logits = jnp.tanh(z @ params["decoder"]) @ params["out"]
    rebuilt = optax.sigmoid_binary_cross_entropy(logits, x).sum(axis=-1)
    divergence = 0.5 * (jnp.exp(log_var) + mean**2 - 1.0 - log_var)
    divergence = jnp.maximum(divergence.mean(axis=0), FREE).sum()
    return rebuilt.mean() + divergence, {"divergence": divergence, "rebuilt": rebuilt.mean()}


def main():
    shapes = {"encoder": (6, 8), "mean": (8, 2), "log_var": (8, 2), "decoder": (2, 8), "out": (8, 6)}
    keys = jax.random.split(jax.random.key(0), 7)
    params = {name: jax.random.normal(key, shape) for key, (name, shape) in zip(keys, shapes.items())}
    optimiser = optax.adam(1e-3)
    state = optimiser.init(params)

    @jax.jit
    def step(params, state, x, key):
        grads, metrics = jax.grad(loss, has_aux=True)(params, x, key)
        updates, state = optimiser.update(grads, state)
        return optax.apply_updates(params, updates), state, metrics

    x = jax.random.bernoulli(keys[5], 0.5, (9, 6)).astype(jnp.float32)
    params, state, metrics = step(params, state, x, keys[6])
    print(metrics["divergence"])


if __name__ == "__main__":
    main()
