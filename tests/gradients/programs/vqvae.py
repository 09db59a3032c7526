"""VQ-VAE: straight-through, a codebook loss and a commitment loss."""

import jax
import jax.numpy as jnp


def loss(params, x):
    z = jnp.tanh(x @ params["encoder"]) @ params["project"]
    distance = jnp.sum((z[:, None, :] - params["codebook"][None]) ** 2, axis=-1)
    index = jnp.argmin(distance, axis=-1)
    e = params["codebook"][index]
    codebook = jnp.mean((jax.lax.stop_gradient(z) - e) ** 2)
    commitment = jnp.mean((z - jax.lax.stop_gradient(e)) ** 2)
    decoded = jnp.tanh((z + jax.lax.stop_gradient(e - z)) @ params["decoder"])
    return jnp.mean((decoded - x) ** 2) + codebook + 0.25 * commitment, index


@jax.jit
def step(params, x):
    (value, index), grads = jax.value_and_grad(loss, has_aux=True)(params, x)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value, index


def main():
    keys = jax.random.split(jax.random.key(0), 5)
    shapes = {"encoder": (6, 8), "project": (8, 4), "codebook": (10, 4), "decoder": (4, 6)}
    params = {name: jax.random.normal(key, shape) for key, (name, shape) in zip(keys, shapes.items())}
    params, value, index = step(params, jax.random.normal(keys[4], (9, 6)))
    print(value)


if __name__ == "__main__":
    main()
