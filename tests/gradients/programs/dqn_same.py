"""Q-learning without a target network: the target is stopped."""

import jax
import jax.numpy as jnp


def q_values(params, obs):
    h = jnp.tanh(obs @ params["w1"] + params["b1"])
    return h @ params["w2"] + params["b2"]


def loss(params, obs, action, reward, discount, next_obs):
    q = q_values(params, obs)[jnp.arange(obs.shape[0]), action]
    target = reward + discount * jax.lax.stop_gradient(q_values(params, next_obs)).max(axis=-1)
    return 0.5 * jnp.mean(jnp.square(target - q))


@jax.jit
def step(params, obs, action, reward, discount, next_obs):
    grads = jax.grad(loss)(params, obs, action, reward, discount, next_obs)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def main():
    k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
    params = {
        "w1": jax.random.normal(k1, (4, 8)),
        "b1": jnp.zeros(8),
        "w2": jax.random.normal(k2, (8, 3)),
        "b2": jnp.zeros(3),
    }
    obs = jax.random.normal(k3, (5, 4))
    print(step(params, obs, jnp.zeros(5, jnp.int32), jnp.ones(5), 0.9 * jnp.ones(5), obs + 0.1)["b2"])


if __name__ == "__main__":
    main()
