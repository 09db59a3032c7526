"""InfoNCE over two views with a learned temperature, both ways."""

import jax
import jax.numpy as jnp
import optax


def embed(params, x):
    h = jax.nn.gelu(x @ params["encoder"]) @ params["head"]
    return h / jnp.linalg.norm(h, axis=-1, keepdims=True)


def loss(params, first, second):
    one, two = embed(params, first), embed(params, second)
    logits = one @ two.T * jnp.exp(params["log_scale"])
    labels = jnp.arange(first.shape[0])
    there = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    back = optax.softmax_cross_entropy_with_integer_labels(logits.T, labels)
    accuracy = jnp.mean(jnp.argmax(logits, axis=-1) == labels)
    return 0.5 * jnp.mean(there + back), accuracy


@jax.jit
def step(params, first, second):
    (_, accuracy), grads = jax.value_and_grad(loss, has_aux=True)(params, first, second)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), accuracy


def main():
    keys = jax.random.split(jax.random.key(0), 3)
    params = {
        "encoder": jax.random.normal(keys[0], (4, 8)),
        "head": jax.random.normal(keys[1], (8, 3)),
        "log_scale": jnp.zeros(()),
    }
    x = jax.random.normal(keys[2], (6, 4))
    print(step(params, x, x + 0.1)[1])


if __name__ == "__main__":
    main()
