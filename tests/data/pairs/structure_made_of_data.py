# array-in-static-field: A compiled function puts an array into the structure.
import jax
import jax.numpy as jnp
from functools import partial
from dataclasses import dataclass


@partial(jax.tree_util.register_dataclass, data_fields=["mass", "position"], meta_fields=["steps"])  #~ @partial(jax.tree_util.register_dataclass, data_fields=["position"], meta_fields=["steps", "mass"])  #! array-in-static-field
@dataclass
class Body:
    position: jax.Array
    mass: jax.Array
    steps: int


@jax.jit
def fuse(first, second):
    mass = first.mass + second.mass
    position = (first.position * first.mass + second.position * second.mass) / mass
    return Body(position, mass, first.steps)


def main():
    a = Body(jnp.zeros(2), jnp.array(1.0), 3)
    b = Body(jnp.ones(2), jnp.array(3.0), 3)
    print(fuse(a, b).position, fuse(b, a).mass)


main()
