"""Assertions, dataclasses and variants of chex."""

import chex
import jax
import jax.numpy as jnp

B, D = 4, 3


@chex.dataclass
class State:
    position: chex.Array
    velocity: chex.Array
    time: chex.Numeric


@chex.dataclass(frozen=True)
class Params:
    dt: float = 0.1
    mass: float = 2.0


def energy(state, params):
    chex.assert_rank(state.position, 1)
    chex.assert_equal_shape([state.position, state.velocity])
    return 0.5 * params.mass * (state.velocity**2).sum() + state.position.sum()


@jax.jit
def step(state, params):
    force = -jax.grad(lambda p: energy(state.replace(position=p), params))(state.position)
    velocity = state.velocity + params.dt * force / params.mass
    return state.replace(position=state.position + params.dt * velocity, velocity=velocity, time=state.time + 1)


params = Params()
state = State(position=jnp.ones(D), velocity=jnp.zeros(D), time=jnp.array(0))
state = step(state, params)
chex.assert_shape(state.position, (D,))
chex.assert_type(state.time, int)
final, energies = jax.lax.scan(lambda s, _: (step(s, params), energy(s, params)), state, None, length=6)
batch = jax.tree.map(lambda leaf: jnp.stack([leaf] * B), state)
moved = jax.vmap(step, in_axes=(0, None))(batch, params)
chex.assert_tree_shape_prefix(moved, (B,))
