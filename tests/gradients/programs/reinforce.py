"""REINFORCE with a learned baseline, over returns to go."""

import jax
import jax.numpy as jnp


def returns_of(rewards):
    def back(ahead, reward):
        ahead = reward + 0.99 * ahead
        return ahead, ahead

    return jax.lax.scan(back, jnp.zeros(rewards.shape[1:]), rewards, reverse=True)[1]


def loss(params, obs, actions, rewards):
    returns = returns_of(rewards)
    h = jnp.tanh(obs @ params["torso"])
    logits, baseline = h @ params["policy"], (h @ params["baseline"])[..., 0]
    logp = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], axis=-1)[..., 0]
    advantage = jax.lax.stop_gradient(returns - baseline)
    return -jnp.mean(logp * advantage) + 0.5 * jnp.mean((baseline - returns) ** 2)


@jax.jit
def step(params, obs, actions, rewards):
    grads = jax.grad(loss)(params, obs, actions, rewards)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads)


def main():
    keys = jax.random.split(jax.random.key(0), 4)
    params = {
        "torso": jax.random.normal(keys[0], (3, 8)),
        "policy": jax.random.normal(keys[1], (8, 4)),
        "baseline": jax.random.normal(keys[2], (8, 1)),
    }
    obs = jax.random.normal(keys[3], (6, 5, 3))
    print(step(params, obs, jnp.zeros((6, 5), jnp.int32), jnp.ones((6, 5)))["baseline"].sum())


if __name__ == "__main__":
    main()
