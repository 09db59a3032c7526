"""SimCLR and a Barlow-like term: gradient flows through both sides, and negatives keep them apart."""

import jax
import jax.numpy as jnp
import optax


def embed(params, x):
    z = jax.nn.gelu(x @ params["w1"]) @ params["w2"]
    return z / jnp.linalg.norm(z, axis=-1, keepdims=True)


def loss(params, first, second):
    a, b = embed(params, first), embed(params, second)
    logits = a @ b.T / jnp.exp(params["log_temperature"])
    labels = jnp.arange(a.shape[0])
    contrast = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
    correlation = (a.T @ b) / a.shape[0]
    decorrelate = jnp.sum((correlation - jnp.eye(correlation.shape[0])) ** 2)
    return contrast + 0.01 * decorrelate + 0.1 * jnp.mean((a - b) ** 2)


step = jax.jit(jax.value_and_grad(loss))


def main():
    k1, k2, k3, k4 = jax.random.split(jax.random.key(0), 4)
    params = {
        "w1": jax.random.normal(k1, (6, 8)),
        "w2": jax.random.normal(k2, (8, 4)),
        "log_temperature": jnp.zeros(()),
    }
    value, _ = step(params, jax.random.normal(k3, (5, 6)), jax.random.normal(k4, (5, 6)))
    print(value)


if __name__ == "__main__":
    main()
