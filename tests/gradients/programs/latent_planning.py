"""A latent world model for planning: consistency with a slow encoder, rewards and values along an imagined rollout."""

import jax
import jax.numpy as jnp


def encode(params, obs):
    return jnp.tanh(obs @ params["encoder"])


def following(params, z, action):
    return jnp.tanh(jnp.concatenate([z, action], -1) @ params["dynamics"])


def value(params, z, action):
    return (jnp.concatenate([z, action], -1) @ params["value"])[:, 0]


def reward_of(params, z, action):
    return (jnp.concatenate([z, action], -1) @ params["reward"])[:, 0]


def loss(params, slow, obs, actions, rewards, next_actions):
    def step(z, x):
        action, reward, seen, next_action = x
        ahead = following(params, z, action)
        wanted = jax.lax.stop_gradient(encode(slow, seen))
        target = jax.lax.stop_gradient(reward + 0.99 * value(slow, wanted, next_action))
        consistency = jnp.mean((ahead - wanted) ** 2)
        reward_error = jnp.mean((reward_of(params, z, action) - reward) ** 2)
        value_error = jnp.mean((value(params, z, action) - target) ** 2)
        return ahead, 2.0 * consistency + 0.5 * reward_error + 0.1 * value_error

    z = encode(params, obs[0])
    _, losses = jax.lax.scan(step, z, (actions, rewards, obs[1:], next_actions))
    return jnp.mean(losses * 0.5 ** jnp.arange(losses.shape[0]))


def policy_loss(policy, params, zs):
    return -jnp.mean(value(params, zs, jnp.tanh(zs @ policy["w"])))


@jax.jit
def train(params, slow, policy, obs, actions, rewards):
    grads = jax.grad(loss)(params, slow, obs, actions, rewards, actions)
    params = jax.tree.map(lambda p, g: p - 0.01 * g, params, grads)
    slow = jax.tree.map(lambda s, p: 0.99 * s + 0.01 * p, slow, params)
    grads = jax.grad(policy_loss)(policy, params, jax.lax.stop_gradient(encode(params, obs[0])))
    return params, slow, jax.tree.map(lambda p, g: p - 0.01 * g, policy, grads)


def main():
    shapes = {"encoder": (5, 4), "dynamics": (6, 4), "value": (6, 1), "reward": (6, 1)}
    keys = jax.random.split(jax.random.key(0), 6)
    params = {name: jax.random.normal(key, shape) for key, (name, shape) in zip(keys, shapes.items())}
    policy = {"w": jax.random.normal(keys[4], (4, 2))}
    obs = jax.random.normal(keys[5], (4, 7, 5))
    out = train(params, params, policy, obs, jnp.zeros((3, 7, 2)), jnp.ones((3, 7)))
    print(out[2]["w"].sum())


if __name__ == "__main__":
    main()
