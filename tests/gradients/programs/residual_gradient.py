"""Baird's residual gradient: the full gradient of the Bellman error, on purpose."""

import jax
import jax.numpy as jnp


def value(params, obs):
    return (jnp.tanh(obs @ params["w1"]) @ params["w2"])[:, 0]


def residual_gradient_loss(params, obs, reward, next_obs):
    return jnp.mean((reward + 0.9 * value(params, next_obs) - value(params, obs)) ** 2)


step = jax.jit(jax.grad(residual_gradient_loss))


def main():
    k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
    params = {"w1": jax.random.normal(k1, (3, 8)), "w2": jax.random.normal(k2, (8, 1))}
    obs = jax.random.normal(k3, (10, 3))
    print(step(params, obs, obs[:, 0], obs + 1.0)["w2"].sum())


if __name__ == "__main__":
    main()
