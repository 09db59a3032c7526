"""A small grid world: the agent walks to a goal, and starts anew when it is there or time is over."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

GRID = 5
MAX_STEPS = 20
MOVES = jnp.array([[0, 1], [0, -1], [1, 0], [-1, 0]])


class EnvState(NamedTuple):
    """Where the agent and its goal are, and how long the episode has lasted."""

    position: jax.Array
    goal: jax.Array
    time: jax.Array


def observe(state):
    """Give what the agent sees: its place and the way to the goal."""
    return jnp.concatenate([state.position, state.goal - state.position]).astype(jnp.float32) / GRID


def reset(key):
    """Start an episode with agent and goal anywhere."""
    place_key, goal_key = jax.random.split(key)
    position = jax.random.randint(place_key, (2,), 0, GRID)
    goal = jax.random.randint(goal_key, (2,), 0, GRID)
    state = EnvState(position, goal, jnp.zeros((), jnp.int32))
    return observe(state), state


def step(key, state, action):
    """Move, and start anew where the episode is over."""
    position = jnp.clip(state.position + MOVES[action], 0, GRID - 1)
    moved = EnvState(position, state.goal, state.time + 1)
    found = jnp.all(position == state.goal)
    done = found | (moved.time >= MAX_STEPS)
    reward = jnp.where(found, 1.0, -0.05)
    obs_reset, state_reset = reset(key)
    next_state = jax.tree.map(lambda new, old: jnp.where(done, new, old), state_reset, moved)
    obs = jnp.where(done, obs_reset, observe(moved))
    return obs, next_state, reward, done
