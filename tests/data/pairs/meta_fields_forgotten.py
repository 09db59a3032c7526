# flatten-loses-field: A field is in neither list.
import jax
import jax.numpy as jnp
from dataclasses import dataclass


@dataclass
class Cell:
    position: jax.Array
    velocity: jax.Array
    mass: float


jax.tree_util.register_dataclass(
    Cell, data_fields=["position", "velocity", "mass"], meta_fields=[]  #~ Cell, data_fields=["position", "velocity"], meta_fields=[]  #! flatten-loses-field
)


@jax.jit
def move(cell, dt):
    return Cell(cell.position + dt * cell.velocity, cell.velocity, cell.mass)


def main():
    print(move(Cell(jnp.zeros(3), jnp.ones(3), 2.0), 0.1).position)


main()
