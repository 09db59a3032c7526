# result-discarded: A buffer is filled by a function whose result nobody keeps.
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

CAPACITY = 64


class Buffer(NamedTuple):
    obs: jax.Array
    reward: jax.Array
    pos: jax.Array
    full: jax.Array


def empty_buffer(obs_dim):
    return Buffer(jnp.zeros((CAPACITY, obs_dim)), jnp.zeros(CAPACITY), jnp.int32(0), jnp.bool_(False))


def add(buf, obs, reward):
    return buf._replace(
        obs=buf.obs.at[buf.pos].set(obs),
        reward=buf.reward.at[buf.pos].set(reward),
        pos=(buf.pos + 1) % CAPACITY,
        full=buf.full | (buf.pos + 1 == CAPACITY),
    )


def env_step(state, key):
    state = 0.95 * state + 0.3 * jax.random.normal(key, state.shape)
    return state, -jnp.sum(state**2)


def make_train(config):
    def train(key):
        w = jnp.zeros(config["obs_dim"])
        buf = empty_buffer(config["obs_dim"])
        k_init, key = jax.random.split(key)
        state = jax.random.normal(k_init, (config["obs_dim"],))

        def collect(carry, k):
            state, buf = carry
            state, reward = env_step(state, k)
            buf = add(buf, state, reward)  #~ add(buf, state, reward)  #! result-discarded
            return (state, buf), reward

        (state, buf), rewards = jax.lax.scan(collect, (state, buf), jax.random.split(key, config["steps"]))

        def loss(w):
            return jnp.mean(optax.huber_loss(buf.obs**2 @ w, buf.reward))

        for _ in range(3):
            w = w - config["lr"] * jax.grad(loss)(w)
        return w, rewards

    return train


def main():
    w, rewards = jax.jit(make_train({"obs_dim": 3, "steps": 50, "lr": 0.05}))(jax.random.key(2))
    print(w, float(rewards.mean()))


if __name__ == "__main__":
    main()
