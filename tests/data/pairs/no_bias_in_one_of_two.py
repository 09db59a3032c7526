# tree-structure-mismatch: One of two trees has None for a leaf.
import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class Layer:
    kernel: jax.Array
    bias: jax.Array | None


def average(first, second):
    return jax.tree.map(lambda a, b: 0.5 * (a + b), first, second)  #! tree-structure-mismatch


def main():
    online = Layer(jnp.ones((3, 2)), jnp.zeros(2))
    target = Layer(jnp.zeros((3, 2)), jnp.ones(2))  #~ target = Layer(jnp.zeros((3, 2)), None)
    print(average(online, target))


main()
