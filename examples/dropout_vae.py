"""A small variational autoencoder with three mistakes that random keys invite. It runs, and nothing is raised.

The key that chooses the dropout mask also makes the noise; every training step is given one key; and `samples` returns
one sample many times. Try: jaxaudit check examples
"""

import jax
import jax.numpy as jnp

LATENT = 8


def dropout(key, x, rate):
    keep = jax.random.bernoulli(key, 1.0 - rate, x.shape)
    return jnp.where(keep, x / (1.0 - rate), 0.0)


def init_params(key, features):
    k_encoder, k_decoder = jax.random.split(key)
    return {
        "encoder": jax.random.normal(k_encoder, (features, 2 * LATENT)) * 0.1,
        "decoder": jax.random.normal(k_decoder, (LATENT, features)) * 0.1,
    }


def loss(params, key, x):
    hidden = dropout(key, x, 0.1) @ params["encoder"]
    mean, log_std = jnp.split(hidden, 2, axis=-1)
    noise = jax.random.normal(key, mean.shape)
    z = mean + jnp.exp(log_std) * noise
    return jnp.mean((z @ params["decoder"] - x) ** 2)


def train(key, x, steps):
    k_params, k_steps = jax.random.split(key)
    params = init_params(k_params, x.shape[-1])
    for _ in range(steps):
        gradients = jax.grad(loss)(params, k_steps, x)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)
    return params


def samples(key, count):
    return jax.vmap(lambda k, i: jax.random.normal(k, (LATENT,)), in_axes=(None, 0))(key, jnp.arange(count))


if __name__ == "__main__":
    k_data, k_train, k_sample = jax.random.split(jax.random.key(0), 3)
    data = jax.random.normal(k_data, (64, 16))
    print(jax.tree.map(jnp.shape, train(k_train, data, 10)))
    print(samples(k_sample, 4))
