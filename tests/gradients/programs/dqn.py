"""Double DQN with a target network, a Huber loss and importance weights."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax


class Batch(NamedTuple):
    obs: jax.Array
    action: jax.Array
    reward: jax.Array
    done: jax.Array
    next_obs: jax.Array


def init(key):
    k1, k2 = jax.random.split(key)
    return {"w1": jax.random.normal(k1, (4, 16)), "w2": jax.random.normal(k2, (16, 3)), "b2": jnp.zeros(3)}


def q_values(params, obs):
    return jax.nn.relu(obs @ params["w1"]) @ params["w2"] + params["b2"]


def loss(params, target_params, batch, weights):
    q = jnp.take_along_axis(q_values(params, batch.obs), batch.action[:, None], axis=1)[:, 0]
    best = jnp.argmax(q_values(params, batch.next_obs), axis=1)
    following = jnp.take_along_axis(q_values(target_params, batch.next_obs), best[:, None], axis=1)[:, 0]
    target = batch.reward + 0.99 * (1.0 - batch.done) * following
    error = q - jax.lax.stop_gradient(target)
    return jnp.mean(weights * optax.huber_loss(error)), jnp.abs(error)


def main():
    key = jax.random.key(0)
    k_init, k_data = jax.random.split(key)
    params = init(k_init)
    target_params = params
    optimiser = optax.adam(1e-3)
    state = optimiser.init(params)

    @jax.jit
    def step(params, target_params, state, batch):
        (value, priorities), grads = jax.value_and_grad(loss, has_aux=True)(params, target_params, batch, jnp.ones(8))
        updates, state = optimiser.update(grads, state)
        params = optax.apply_updates(params, updates)
        return params, optax.incremental_update(params, target_params, 0.01), state, value, priorities

    obs = jax.random.normal(k_data, (8, 4))
    batch = Batch(obs, jnp.zeros(8, jnp.int32), jnp.ones(8), jnp.zeros(8), obs + 1.0)
    for _ in range(2):
        params, target_params, state, value, priorities = step(params, target_params, state, batch)
    print(value)


if __name__ == "__main__":
    main()
