"""A distributional value function: the projected distribution of the target network is the label of a cross entropy."""

import jax
import jax.numpy as jnp
import optax

ATOMS = 7
SUPPORT = jnp.linspace(-1.0, 1.0, ATOMS)


def logits_of(params, obs):
    h = jax.nn.relu(obs @ params["w1"])
    advantage = (h @ params["advantage"]).reshape(obs.shape[0], 3, ATOMS)
    value = (h @ params["value"]).reshape(obs.shape[0], 1, ATOMS)
    return value + advantage - advantage.mean(axis=1, keepdims=True)


def projected(reward, discount, probs):
    moved = jnp.clip(reward[:, None] + discount[:, None] * SUPPORT, -1.0, 1.0)
    width = 2.0 / (ATOMS - 1)
    share = jnp.clip(1.0 - jnp.abs(moved[:, None, :] - SUPPORT[None, :, None]) / width, 0.0, 1.0)
    return jnp.sum(share * probs[:, None, :], axis=-1)


def loss(params, slow, obs, action, reward, discount, next_obs, weights):
    rows = jnp.arange(obs.shape[0])
    online = jax.nn.softmax(logits_of(params, next_obs))
    best = jnp.argmax(jnp.sum(online * SUPPORT, axis=-1), axis=-1)
    ahead = jax.nn.softmax(logits_of(slow, next_obs))[rows, best]
    target = jax.lax.stop_gradient(projected(reward, discount, ahead))
    chosen = logits_of(params, obs)[rows, action]
    error = optax.softmax_cross_entropy(chosen, target)
    return jnp.mean(weights * error), error


@jax.jit
def step(params, slow, obs, action, reward, discount, next_obs, weights):
    (_, priorities), grads = jax.value_and_grad(loss, has_aux=True)(
        params, slow, obs, action, reward, discount, next_obs, weights
    )
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), priorities


def main():
    keys = jax.random.split(jax.random.key(0), 4)
    params = {
        "w1": jax.random.normal(keys[0], (4, 8)),
        "advantage": jax.random.normal(keys[1], (8, 3 * ATOMS)),
        "value": jax.random.normal(keys[2], (8, ATOMS)),
    }
    obs = jax.random.normal(keys[3], (5, 4))
    ones = jnp.ones(5)
    print(step(params, params, obs, jnp.zeros(5, jnp.int32), ones, 0.9 * ones, obs + 0.1, ones)[1])


if __name__ == "__main__":
    main()
