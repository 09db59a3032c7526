"""MAML: gradient flows through the inner steps; the learning rate is learned too."""

import jax
import jax.numpy as jnp


def predict(params, x):
    return jnp.tanh(x @ params["w1"] + params["b1"]) @ params["w2"]


def task_loss(params, x, y):
    return jnp.mean((predict(params, x) - y) ** 2)


def adapt(params, rate, x, y):
    def inner(_, params):
        grads = jax.grad(task_loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - rate * g, params, grads)

    return jax.lax.fori_loop(0, 2, inner, params)


def meta_loss(meta, tasks):
    def one(x, y, qx, qy):
        return task_loss(adapt(meta["params"], jnp.exp(meta["log_rate"]), x, y), qx, qy)

    return jnp.mean(jax.vmap(one)(*tasks))


@jax.jit
def step(meta, tasks):
    value, grads = jax.value_and_grad(meta_loss)(meta, tasks)
    return jax.tree.map(lambda p, g: p - 0.01 * g, meta, grads), value


def main():
    k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
    params = {"w1": jax.random.normal(k1, (3, 8)), "b1": jnp.zeros(8), "w2": jax.random.normal(k2, (8, 1))}
    meta = {"params": params, "log_rate": jnp.log(0.1)}
    x = jax.random.normal(k3, (4, 5, 3))
    y = jnp.sum(x, axis=-1, keepdims=True)
    print(step(meta, (x, y, x, y))[1])


if __name__ == "__main__":
    main()
