# carry-out-of-step: An environment observes the state that the step began with.
import dataclasses

import chex
import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class State:
    pos: chex.Array
    vel: chex.Array
    t: chex.Array


@dataclasses.dataclass(frozen=True)
class Params:
    dt: float = 0.05
    limit: float = 2.4
    horizon: int = 200


class Cart:
    def __init__(self, params=Params()):
        self.params = params

    def reset(self, key):
        pos, vel = jax.random.uniform(key, (2,), minval=-0.05, maxval=0.05)
        return State(pos=pos, vel=vel, t=jnp.int32(0))

    def observe(self, state):
        return jnp.stack([state.pos, state.vel])

    def step(self, state, force):
        vel = state.vel + self.params.dt * jnp.clip(force, -1.0, 1.0)
        pos = state.pos + self.params.dt * vel
        new_state = state.replace(pos=pos, vel=vel, t=state.t + 1)
        reward = 1.0 - new_state.pos**2
        done = (jnp.abs(new_state.pos) > self.params.limit) | (new_state.t >= self.params.horizon)
        return self.observe(new_state), new_state, reward, done  #~ return self.observe(state), new_state, reward, done  #! carry-out-of-step


def rollout(env, key, gains, steps):
    def body(carry, _):
        state, obs = carry
        obs, state, reward, done = env.step(state, -obs @ gains)
        return (state, obs), (reward, done)

    state = env.reset(key)
    _, (rewards, dones) = jax.lax.scan(body, (state, env.observe(state)), None, length=steps)
    return rewards.sum(), dones


def main():
    env = Cart()
    keys = jax.random.split(jax.random.key(1), 16)
    gains = jnp.array([1.0, 1.5])
    returns, dones = jax.jit(jax.vmap(lambda k: rollout(env, k, gains, 100)))(keys)
    print(returns.mean(), dones.mean())


if __name__ == "__main__":
    main()
