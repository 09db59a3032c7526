# The state is a NamedTuple whose key is replaced in each step.
from typing import NamedTuple

import jax


class SamplerState(NamedTuple):
    position: jax.Array
    rng_key: jax.Array


def step(state):
    rng_key, noise_key = jax.random.split(state.rng_key)
    position = state.position + jax.random.normal(noise_key, state.position.shape)
    return state._replace(position=position, rng_key=rng_key)


def main():
    init_key, chain_key = jax.random.split(jax.random.key(0))
    state = SamplerState(jax.random.normal(init_key, (2,)), chain_key)
    for _ in range(10):
        state = step(state)
    print(state.position)


if __name__ == "__main__":
    main()
