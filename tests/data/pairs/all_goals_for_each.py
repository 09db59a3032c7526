# batched-argument-broadcast: Each environment is measured against the goals of all.
from typing import NamedTuple

import jax
import jax.numpy as jnp


class EnvState(NamedTuple):
    pos: jax.Array
    t: jax.Array


def reset(key):
    return EnvState(jax.random.uniform(key, (2,)), jnp.array(0))


def step(state, action, goal):
    pos = state.pos + 0.1 * jnp.clip(action, -1, 1)
    dist = jnp.linalg.norm(pos - goal)
    return EnvState(pos, state.t + 1), -dist


def run(key, num_envs, horizon):
    k_reset, k_goal = jax.random.split(key)
    states = jax.vmap(reset)(jax.random.split(k_reset, num_envs))
    goals = jax.random.uniform(k_goal, (num_envs, 2))

    def body(states, _):
        actions = goals - states.pos
        states, rewards = jax.vmap(step, in_axes=(0, 0, 0))(states, actions, goals)  #~ states, rewards = jax.vmap(step, in_axes=(0, 0, None))(states, actions, goals)  #! batched-argument-broadcast
        return states, rewards

    return jax.lax.scan(body, states, None, length=horizon)


def main():
    states, rewards = run(jax.random.PRNGKey(0), 16, 30)
    print(rewards[-1])


if __name__ == "__main__":
    main()
