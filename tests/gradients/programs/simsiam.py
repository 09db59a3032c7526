"""SimSiam: one network, a predictor, and a stop on the side without it."""

import jax
import jax.numpy as jnp


def encode(params, x):
    return jnp.tanh(x @ params["w"] + params["b"])


def negative_cosine(p, z):
    z = jax.lax.stop_gradient(z)
    p = p / jnp.linalg.norm(p, axis=-1, keepdims=True)
    z = z / jnp.linalg.norm(z, axis=-1, keepdims=True)
    return -jnp.mean(jnp.sum(p * z, axis=-1))


def loss(params, first, second):
    z1, z2 = encode(params["encoder"], first), encode(params["encoder"], second)
    p1, p2 = z1 @ params["predictor"], z2 @ params["predictor"]
    return 0.5 * negative_cosine(p1, z2) + 0.5 * negative_cosine(p2, z1)


step = jax.jit(jax.value_and_grad(loss))


def main():
    k1, k2, k3, k4 = jax.random.split(jax.random.key(0), 4)
    params = {
        "encoder": {"w": jax.random.normal(k1, (6, 4)), "b": jnp.zeros(4)},
        "predictor": jax.random.normal(k2, (4, 4)),
    }
    value, grads = step(params, jax.random.normal(k3, (5, 6)), jax.random.normal(k4, (5, 6)))
    print(value, grads["predictor"].sum())


if __name__ == "__main__":
    main()
