# An optimiser that keeps its key in its own state.
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax


class NoiseState(NamedTuple):
    count: jax.Array
    rng_key: jax.Array


def add_noise(scale, key):
    def init_fn(params):
        del params
        return NoiseState(jnp.zeros([], jnp.int32), key)

    def update_fn(updates, state, params=None):
        del params
        rng_key, sample_key = jax.random.split(state.rng_key)
        leaves, treedef = jax.tree.flatten(updates)
        keys = jax.random.split(sample_key, len(leaves))
        noisy = [leaf + scale * jax.random.normal(k, leaf.shape) for leaf, k in zip(leaves, keys)]
        return jax.tree.unflatten(treedef, noisy), NoiseState(state.count + 1, rng_key)

    return optax.GradientTransformation(init_fn, update_fn)


def main():
    optimiser = optax.chain(add_noise(0.1, jax.random.key(0)), optax.sgd(0.1))
    params = {"w": jnp.ones(3)}
    state = optimiser.init(params)
    for _ in range(3):
        updates, state = optimiser.update(params, state)
        params = optax.apply_updates(params, updates)
    print(params)


if __name__ == "__main__":
    main()
