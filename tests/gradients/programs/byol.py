"""BYOL: an online network predicts a slowly moving one; both views take both roles."""

import jax
import jax.numpy as jnp
import optax


def project(params, x):
    return jax.nn.relu(x @ params["encoder"]) @ params["projector"]


def predict(params, x):
    return project(params, x) @ params["predictor"]


def unit(x):
    return x / (jnp.linalg.norm(x, axis=-1, keepdims=True) + 1e-6)


def loss(online, target, first, second):
    one, two = unit(predict(online, first)), unit(predict(online, second))
    aim_one = jax.lax.stop_gradient(unit(project(target, first)))
    aim_two = jax.lax.stop_gradient(unit(project(target, second)))
    return jnp.mean(2 - 2 * jnp.sum(one * aim_two, -1)) + jnp.mean(2 - 2 * jnp.sum(two * aim_one, -1))


def main():
    keys = jax.random.split(jax.random.key(0), 5)
    online = {
        "encoder": jax.random.normal(keys[0], (6, 8)),
        "projector": jax.random.normal(keys[1], (8, 4)),
        "predictor": jax.random.normal(keys[2], (4, 4)),
    }
    target = {name: online[name] for name in ("encoder", "projector")}
    optimiser = optax.sgd(0.1)
    state = optimiser.init(online)

    @jax.jit
    def step(online, target, state, first, second):
        value, grads = jax.value_and_grad(loss)(online, target, first, second)
        updates, state = optimiser.update(grads, state)
        online = optax.apply_updates(online, updates)
        target = {name: 0.99 * target[name] + 0.01 * online[name] for name in target}
        return online, target, state, value

    first, second = jax.random.normal(keys[3], (5, 6)), jax.random.normal(keys[4], (5, 6))
    for _ in range(2):
        online, target, state, value = step(online, target, state, first, second)
    print(value)


if __name__ == "__main__":
    main()
