"""A heat equation with a source: both sides of the equation come from one network, on purpose."""

import jax
import jax.numpy as jnp


def u(params, x, t):
    h = jnp.tanh(jnp.stack([x, t]) @ params["w1"] + params["b1"])
    return (h @ params["w2"])[0]


def residual(params, x, t, source):
    u_t = jax.grad(u, argnums=2)(params, x, t)
    u_xx = jax.grad(jax.grad(u, argnums=1), argnums=1)(params, x, t)
    return u_t - 0.1 * u_xx - source


def loss(params, xs, ts, sources):
    inner = jax.vmap(residual, in_axes=(None, 0, 0, 0))(params, xs, ts, sources)
    start = jax.vmap(u, in_axes=(None, 0, None))(params, xs, 0.0)
    periodic = u(params, 0.0, ts[0]) - u(params, 1.0, ts[0])
    return jnp.mean(inner**2) + jnp.mean((start - jnp.sin(xs)) ** 2) + periodic**2


step = jax.jit(jax.grad(loss))


def main():
    k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
    params = {"w1": jax.random.normal(k1, (2, 8)), "b1": jnp.zeros(8), "w2": jax.random.normal(k2, (8, 1))}
    xs = jax.random.uniform(k3, (10,))
    print(step(params, xs, xs, jnp.sin(xs))["b1"].sum())


if __name__ == "__main__":
    main()
