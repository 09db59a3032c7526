"""A2C over a rollout: returns are computed inside the loss, from values that are stopped."""

import jax
import jax.numpy as jnp


def network(params, obs):
    h = jnp.tanh(obs @ params["torso"])
    return h @ params["policy"], (h @ params["value"])[..., 0]


def returns_of(rewards, last):
    def back(ahead, reward):
        ahead = reward + 0.99 * ahead
        return ahead, ahead

    return jax.lax.scan(back, last, rewards, reverse=True)[1]


def loss(params, obs, actions, rewards, last_obs):
    logits, values = jax.vmap(network, in_axes=(None, 0))(params, obs)
    _, last = network(params, last_obs)
    returns = jax.lax.stop_gradient(returns_of(rewards, last))
    logp = jax.nn.log_softmax(logits)
    chosen = jnp.sum(logp * jax.nn.one_hot(actions, 3), axis=-1)
    advantage = returns - values
    actor = -jnp.mean(chosen * jax.lax.stop_gradient(advantage))
    return actor + 0.5 * jnp.mean(jnp.square(advantage)) + 0.01 * jnp.mean(jnp.sum(jnp.exp(logp) * logp, axis=-1))


@jax.jit
def step(params, obs, actions, rewards, last_obs):
    value, grads = jax.value_and_grad(loss)(params, obs, actions, rewards, last_obs)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), value


def main():
    keys = jax.random.split(jax.random.key(0), 4)
    params = {
        "torso": jax.random.normal(keys[0], (4, 8)),
        "policy": jax.random.normal(keys[1], (8, 3)),
        "value": jax.random.normal(keys[2], (8, 1)),
    }
    obs = jax.random.normal(keys[3], (6, 5, 4))
    print(step(params, obs, jnp.zeros((6, 5), jnp.int32), jnp.ones((6, 5)), obs[-1])[1])


if __name__ == "__main__":
    main()
