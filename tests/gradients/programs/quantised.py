"""Rounding with gradient: a straight-through estimator, a custom derivative, a learned step size."""

import jax
import jax.numpy as jnp


@jax.custom_vjp
def through(x):
    return jnp.round(x)


through.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))


def quantise(x, step):
    scaled = jnp.clip(x / step, -7.0, 7.0)
    return (scaled + jax.lax.stop_gradient(jnp.round(scaled) - scaled)) * step


def loss(params, x, y):
    h = jax.nn.relu(quantise(x, params["step"]) @ params["w1"])
    keep = (h > jnp.quantile(h, 0.5)).astype(h.dtype)
    gate = jax.nn.sigmoid(params["gate"])
    hard = jnp.where(gate > 0.5, 1.0, 0.0)
    gate = gate + jax.lax.stop_gradient(hard - gate)
    return jnp.mean((gate * (through(keep * h) @ params["w2"])[:, 0] - y) ** 2)


step = jax.jit(jax.grad(loss))


def main():
    k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
    params = {
        "step": jnp.array(0.1),
        "gate": jnp.array(0.3),
        "w1": jax.random.normal(k1, (3, 8)),
        "w2": jax.random.normal(k2, (8, 1)),
    }
    x = jax.random.normal(k3, (10, 3))
    print(step(params, x, x[:, 0])["step"])


if __name__ == "__main__":
    main()
