"""SAC: a squashed, reparameterised policy, twin critics, a learned temperature."""

import jax
import jax.numpy as jnp
import optax

TARGET_ENTROPY = -2.0


def mlp(params, x):
    return jax.nn.relu(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def init_mlp(key, inputs, outputs):
    k1, k2 = jax.random.split(key)
    return {
        "w1": 0.1 * jax.random.normal(k1, (inputs, 16)),
        "b1": jnp.zeros(16),
        "w2": 0.1 * jax.random.normal(k2, (16, outputs)),
        "b2": jnp.zeros(outputs),
    }


def sample(actor, obs, key):
    mean, log_std = jnp.split(mlp(actor, obs), 2, axis=-1)
    log_std = jnp.clip(log_std, -5.0, 2.0)
    std = jnp.exp(log_std)
    raw = mean + std * jax.random.normal(key, mean.shape)
    action = jnp.tanh(raw)
    logp = -0.5 * ((raw - mean) / std) ** 2 - log_std - 0.5 * jnp.log(2 * jnp.pi)
    logp = logp - 2.0 * (jnp.log(2.0) - raw - jax.nn.softplus(-2.0 * raw))
    return action, logp.sum(axis=-1)


def q_value(critic, obs, action):
    return mlp(critic, jnp.concatenate([obs, action], axis=-1))[..., 0]


def critic_loss(critics, target_critics, actor, log_alpha, batch, key):
    obs, action, reward, done, next_obs = batch
    next_action, next_logp = sample(actor, next_obs, key)
    following = jnp.minimum(
        q_value(target_critics[0], next_obs, next_action), q_value(target_critics[1], next_obs, next_action)
    )
    target = reward + 0.99 * (1 - done) * (following - jnp.exp(log_alpha) * next_logp)
    errors = [q_value(critic, obs, action) - target for critic in critics]
    return sum(jnp.mean(error**2) for error in errors)


def actor_loss(actor, critics, log_alpha, obs, key):
    action, logp = sample(actor, obs, key)
    q = jnp.minimum(q_value(critics[0], obs, action), q_value(critics[1], obs, action))
    return jnp.mean(jnp.exp(log_alpha) * logp - q), logp


def alpha_loss(log_alpha, logp):
    return -jnp.mean(jnp.exp(log_alpha) * jax.lax.stop_gradient(logp + TARGET_ENTROPY))


def main():
    keys = jax.random.split(jax.random.key(0), 6)
    actor = init_mlp(keys[0], 3, 4)
    critics = [init_mlp(keys[1], 5, 1), init_mlp(keys[2], 5, 1)]
    log_alpha = jnp.zeros(())
    optimiser = optax.adam(1e-3)
    states = (optimiser.init(actor), optimiser.init(critics), optimiser.init(log_alpha))

    @jax.jit
    def step(actor, critics, targets, log_alpha, states, batch, key):
        k1, k2 = jax.random.split(key)
        grads = jax.grad(critic_loss)(critics, targets, actor, log_alpha, batch, k1)
        updates, critic_state = optimiser.update(grads, states[1])
        critics = optax.apply_updates(critics, updates)
        (_, logp), grads = jax.value_and_grad(actor_loss, has_aux=True)(actor, critics, log_alpha, batch[0], k2)
        updates, actor_state = optimiser.update(grads, states[0])
        actor = optax.apply_updates(actor, updates)
        grads = jax.grad(alpha_loss)(log_alpha, logp)
        updates, alpha_state = optimiser.update(grads, states[2])
        log_alpha = optax.apply_updates(log_alpha, updates)
        targets = jax.tree.map(lambda new, old: 0.005 * new + 0.995 * old, critics, targets)
        return actor, critics, targets, log_alpha, (actor_state, critic_state, alpha_state)

    obs = jax.random.normal(keys[3], (7, 3))
    batch = (obs, jnp.zeros((7, 2)), jnp.ones(7), jnp.zeros(7), obs + 0.1)
    actor, critics, targets, log_alpha, states = step(actor, critics, critics, log_alpha, states, batch, keys[4])
    print(log_alpha)


if __name__ == "__main__":
    main()
