"""TD3: delayed policy updates through the critic, smoothed targets."""

import jax
import jax.numpy as jnp


def policy(params, obs):
    return jnp.tanh(obs @ params["w"] + params["b"])


def critic(params, obs, action):
    h = jax.nn.relu(jnp.concatenate([obs, action], -1) @ params["w1"])
    return (h @ params["w2"])[:, 0]


def critic_loss(critics, targets, actor_target, batch, key):
    obs, action, reward, not_done, next_obs = batch
    noise = jnp.clip(0.2 * jax.random.normal(key, action.shape), -0.5, 0.5)
    next_action = jnp.clip(policy(actor_target, next_obs) + noise, -1, 1)
    following = jnp.minimum(*(critic(one, next_obs, next_action) for one in targets))
    target = reward + not_done * 0.99 * following
    return sum(((critic(one, obs, action) - target) ** 2).mean() for one in critics)


def actor_loss(actor, critics, obs):
    return -critic(critics[0], obs, policy(actor, obs)).mean()


@jax.jit
def step(actor, critics, targets, actor_target, batch, key, delayed):
    grads = jax.grad(critic_loss)(critics, targets, actor_target, batch, key)
    critics = jax.tree.map(lambda p, g: p - 0.01 * g, critics, grads)

    def improve(actor):
        grads = jax.grad(actor_loss)(actor, critics, batch[0])
        return jax.tree.map(lambda p, g: p - 0.01 * g, actor, grads)

    actor = jax.lax.cond(delayed, improve, lambda actor: actor, actor)
    return actor, critics


def main():
    keys = jax.random.split(jax.random.key(0), 6)
    actor = {"w": jax.random.normal(keys[0], (3, 2)), "b": jnp.zeros(2)}
    critics = tuple(
        {"w1": jax.random.normal(keys[i], (5, 8)), "w2": jax.random.normal(keys[i + 1], (8, 1))} for i in (1, 2)
    )
    obs = jax.random.normal(keys[4], (6, 3))
    batch = (obs, jnp.zeros((6, 2)), jnp.ones(6), jnp.ones(6), obs + 0.1)
    actor, critics = step(actor, critics, critics, actor, batch, keys[5], True)
    print(actor["b"])


if __name__ == "__main__":
    main()
