# unregistered-class: Only the base is registered.
import jax
import jax.numpy as jnp
from dataclasses import dataclass

from flax import struct


@struct.dataclass
class Env:
    position: jax.Array
    time: int


@struct.dataclass  #~ @dataclass
class WindyEnv(Env):
    wind: jax.Array


@jax.jit
def step(env, action):
    return env.position + action + env.wind


def main():
    env = WindyEnv(jnp.zeros(2), 0, jnp.ones(2))
    print(step(env, jnp.ones(2)))  #! unregistered-class


main()
