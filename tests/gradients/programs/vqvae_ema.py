"""VQ-VAE whose codebook follows a moving average: the loss has no codebook term."""

import jax
import jax.numpy as jnp


def loss(params, codebook, x):
    z = x @ params["encoder"]
    index = jnp.argmin(jnp.sum((z[:, None, :] - codebook[None]) ** 2, axis=-1), axis=-1)
    e = codebook[index]
    decoded = (z + jax.lax.stop_gradient(e - z)) @ params["decoder"]
    return jnp.mean((decoded - x) ** 2) + 0.25 * jnp.mean((z - jax.lax.stop_gradient(e)) ** 2), (z, index)


@jax.jit
def step(params, codebook, x):
    grads, (z, index) = jax.grad(loss, has_aux=True)(params, codebook, x)
    hits = jax.nn.one_hot(index, codebook.shape[0])
    means = (hits.T @ z) / (hits.sum(axis=0)[:, None] + 1e-5)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), 0.99 * codebook + 0.01 * means


def main():
    keys = jax.random.split(jax.random.key(0), 4)
    params = {"encoder": jax.random.normal(keys[0], (6, 4)), "decoder": jax.random.normal(keys[1], (4, 6))}
    params, codebook = step(params, jax.random.normal(keys[2], (10, 4)), jax.random.normal(keys[3], (9, 6)))
    print(codebook.sum())


if __name__ == "__main__":
    main()
