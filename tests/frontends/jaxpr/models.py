"""Programs as people write them: an actor-critic in one jitted function, a flax transformer, an equinox MLP."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax


class State(NamedTuple):
    position: Any
    speed: Any


def reset(key):
    return State(jax.random.uniform(key, (3,)), jnp.zeros(3))


def step(key, state, action):
    noise_key, reset_key = jax.random.split(key)
    speed = state.speed + 0.1 * action + 0.01 * jax.random.normal(noise_key, (3,))
    position = state.position + speed
    done = jnp.abs(position).max() > 2.0
    fresh = reset(reset_key)
    following = jax.tree.map(lambda a, b: jnp.where(done, a, b), fresh, State(position, speed))
    return following, -jnp.square(position).sum(), done


def policy(params, state):
    hidden = jnp.tanh(jnp.concatenate([state.position, state.speed]) @ params["w1"])
    return hidden @ params["w2"], (hidden @ params["v"])[0]


def advantages(rewards, values, dones, last):
    def back(carry, row):
        gae, following = carry
        reward, value, done = row
        delta = reward + 0.99 * following * (1 - done) - value
        gae = delta + 0.95 * 0.99 * (1 - done) * gae
        return (gae, value), gae

    return lax.scan(back, (jnp.zeros_like(last), last), (rewards, values, dones), reverse=True)[1]


def train(key, envs=4, length=8, updates=2):
    """Train a small actor-critic, all in one traced function."""
    init_key, reset_key, run_key = jax.random.split(key, 3)
    keys = jax.random.split(init_key, 3)
    params = {
        "w1": 0.1 * jax.random.normal(keys[0], (6, 8)),
        "w2": 0.1 * jax.random.normal(keys[1], (8, 3)),
        "v": 0.1 * jax.random.normal(keys[2], (8, 1)),
    }
    states = jax.vmap(reset)(jax.random.split(reset_key, envs))

    def rollout(carry, _):
        params, states, key = carry
        key, act_key, step_key = jax.random.split(key, 3)
        means, values = jax.vmap(policy, in_axes=(None, 0))(params, states)
        actions = means + jax.random.normal(act_key, means.shape)
        following, rewards, dones = jax.vmap(step)(jax.random.split(step_key, envs), states, actions)
        return (params, following, key), (states, actions, rewards, values, dones.astype(jnp.float32))

    def loss(params, states, actions, gains):
        means, values = jax.vmap(jax.vmap(policy, in_axes=(None, 0)), in_axes=(None, 0))(params, states)
        score = -0.5 * jnp.square(actions - means).sum(-1)
        return -(score * lax.stop_gradient(gains)).mean(), values.mean()

    def update(carry, _):
        carry, (states, actions, rewards, values, dones) = lax.scan(rollout, carry, None, length)
        params, last_states, key = carry
        last = jax.vmap(policy, in_axes=(None, 0))(params, last_states)[1]
        gains = advantages(rewards, values, dones, last)
        (value, _), slopes = jax.value_and_grad(loss, has_aux=True)(params, states, actions, gains)
        params = jax.tree.map(lambda p, g: p - 0.01 * g, params, slopes)
        return (params, last_states, key), value

    return lax.scan(update, (params, states, run_key), None, updates)


def flax_step(linen):
    """Make a training step of a small transformer block, and its arguments."""

    class Block(linen.Module):
        @linen.compact
        def __call__(self, x):
            h = linen.LayerNorm()(x)
            x = x + linen.MultiHeadDotProductAttention(num_heads=2, dropout_rate=0.1, deterministic=False)(h, h)
            h = linen.gelu(linen.Dense(16)(linen.LayerNorm()(x)))
            return linen.Dropout(0.1, deterministic=False)(x + linen.Dense(8)(h))

    model = Block()
    x = jnp.arange(4 * 5 * 8.0).reshape(4, 5, 8) / 160
    params = model.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, x)

    def train_step(params, x, key):
        def loss(params):
            return jnp.square(model.apply(params, x, rngs={"dropout": key}) - x).mean()

        value, slopes = jax.value_and_grad(loss)(params)
        return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes)

    return train_step, (params, x, jax.random.key(2))


def equinox_step(eqx):
    """Make a training step of a small perceptron, and its arguments."""
    model = eqx.nn.MLP(3, 2, 8, 2, key=jax.random.key(0))
    arrays, rest = eqx.partition(model, eqx.is_array)
    x = jnp.arange(12.0).reshape(4, 3) / 12

    @eqx.filter_jit
    def fit(model, x):
        value, slopes = eqx.filter_value_and_grad(lambda m, x: jnp.square(jax.vmap(m)(x)).mean())(model, x)
        return value, eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, slopes))

    def train_step(arrays, x):
        value, model = fit(eqx.combine(arrays, rest), x)
        return value, eqx.filter(model, eqx.is_array)

    return train_step, (arrays, x)
