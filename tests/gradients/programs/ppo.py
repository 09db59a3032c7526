"""PPO with clipping, on advantages and returns from a rollout."""

import jax
import jax.numpy as jnp
import optax

CLIP, VF, ENT = 0.2, 0.5, 0.01


def init(key):
    k1, k2, k3 = jax.random.split(key, 3)
    return {
        "torso": {"w": jax.random.normal(k1, (4, 16)), "b": jnp.zeros(16)},
        "policy": {"w": jax.random.normal(k2, (16, 3)), "b": jnp.zeros(3)},
        "value": {"w": jax.random.normal(k3, (16, 1)), "b": jnp.zeros(1)},
    }


def network(params, obs):
    h = jnp.tanh(obs @ params["torso"]["w"] + params["torso"]["b"])
    logits = h @ params["policy"]["w"] + params["policy"]["b"]
    value = h @ params["value"]["w"] + params["value"]["b"]
    return logits, value[..., 0]


def gae(rewards, values, dones, last):
    def back(carry, step):
        ahead, following = carry
        reward, value, done = step
        delta = reward + 0.99 * following * (1 - done) - value
        ahead = delta + 0.99 * 0.95 * (1 - done) * ahead
        return (ahead, value), ahead

    _, advantages = jax.lax.scan(back, (jnp.zeros_like(last), last), (rewards, values, dones), reverse=True)
    return advantages, advantages + values


def loss(params, obs, actions, old_logp, old_values, advantages, returns):
    logits, values = network(params, obs)
    logp = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(logp, actions[..., None], axis=-1)[..., 0]
    ratio = jnp.exp(chosen - old_logp)
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    actor = -jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantages).mean()
    clipped = old_values + jnp.clip(values - old_values, -CLIP, CLIP)
    critic = 0.5 * jnp.maximum((values - returns) ** 2, (clipped - returns) ** 2).mean()
    entropy = -jnp.sum(jnp.exp(logp) * logp, axis=-1).mean()
    return actor + VF * critic - ENT * entropy, (actor, critic, entropy)


def main():
    key = jax.random.key(0)
    k_init, k_obs, k_act, k_rew = jax.random.split(key, 4)
    params = init(k_init)
    optimiser = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(3e-4))
    state = optimiser.init(params)
    obs = jax.random.normal(k_obs, (8, 6, 4))

    @jax.jit
    def update(params, state, k_act, k_rew):
        logits, values = network(params, obs)
        actions = jax.random.categorical(k_act, logits)
        logp = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], axis=-1)[..., 0]
        rewards = jax.random.normal(k_rew, (8, 6))
        advantages, returns = gae(rewards, values, jnp.zeros((8, 6)), values[-1])
        given = (obs, actions, logp, values, advantages, returns)
        (value, aux), grads = jax.value_and_grad(loss, has_aux=True)(params, *given)
        updates, state = optimiser.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value, aux

    for turn in range(2):
        keys = jax.random.fold_in(k_act, turn), jax.random.fold_in(k_rew, turn)
        params, state, value, aux = update(params, state, *keys)
    print(value)


if __name__ == "__main__":
    main()
