# Binary search down a Brownian tree: each turn goes on with the key of the half it chose.
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Node(NamedTuple):
    left: jax.Array
    width: jax.Array
    value: jax.Array
    key: jax.Array


def evaluate(key, time, tolerance=0.01):
    def too_wide(node):
        return node.width > tolerance

    def descend(node):
        left_key, right_key, here = jax.random.split(node.key, 3)
        half = 0.5 * node.width
        goes_right = time > node.left + half
        value = node.value + jnp.sqrt(half) * jax.random.normal(here)
        left = jnp.where(goes_right, node.left + half, node.left)
        return Node(left, half, value, jnp.where(goes_right, right_key, left_key))

    root = Node(jnp.float32(0.0), jnp.float32(1.0), jnp.float32(0.0), key)
    leaf = jax.lax.while_loop(too_wide, descend, root)
    return leaf.value + jax.random.normal(leaf.key) * leaf.width


def main():
    print(evaluate(jax.random.key(0), 0.3))


if __name__ == "__main__":
    main()
