"""DDPG: a deterministic policy through its critic, slow copies of both."""

import jax
import jax.numpy as jnp
import optax


def policy(actor, obs):
    return jnp.tanh(jax.nn.relu(obs @ actor["w1"]) @ actor["w2"])


def q_value(critic, obs, action):
    h = jax.nn.relu(jnp.concatenate([obs, action], -1) @ critic["w1"])
    return (h @ critic["w2"] + critic["b"])[:, 0]


def critic_loss(critic, slow_critic, slow_actor, batch):
    obs, action, reward, discount, next_obs = batch
    following = q_value(slow_critic, next_obs, policy(slow_actor, next_obs))
    target = reward + 0.99 * discount * following
    return jnp.mean(jnp.square(q_value(critic, obs, action) - target))


def actor_loss(actor, critic, obs):
    return -jnp.mean(q_value(critic, obs, policy(actor, obs)))


optimiser = optax.adam(1e-3)


@jax.jit
def step(params, slow, states, batch):
    value, grads = jax.value_and_grad(critic_loss)(params["critic"], slow["critic"], slow["actor"], batch)
    updates, critic_state = optimiser.update(grads, states["critic"])
    critic = optax.apply_updates(params["critic"], updates)
    grads = jax.grad(actor_loss)(params["actor"], critic, batch[0])
    updates, actor_state = optimiser.update(grads, states["actor"])
    params = {"actor": optax.apply_updates(params["actor"], updates), "critic": critic}
    slow = jax.tree.map(lambda s, p: 0.995 * s + 0.005 * p, slow, params)
    return params, slow, {"actor": actor_state, "critic": critic_state}, value


def main():
    keys = jax.random.split(jax.random.key(0), 5)
    params = {
        "actor": {"w1": jax.random.normal(keys[0], (3, 8)), "w2": jax.random.normal(keys[1], (8, 2))},
        "critic": {
            "w1": jax.random.normal(keys[2], (5, 8)),
            "w2": jax.random.normal(keys[3], (8, 1)),
            "b": jnp.zeros(1),
        },
    }
    states = {name: optimiser.init(tree) for name, tree in params.items()}
    obs = jax.random.normal(keys[4], (6, 3))
    batch = (obs, jnp.zeros((6, 2)), jnp.ones(6), jnp.ones(6), obs + 0.1)
    slow = params
    for _ in range(2):
        params, slow, states, value = step(params, slow, states, batch)
    print(value)


if __name__ == "__main__":
    main()
