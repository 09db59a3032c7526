# attribute-on-namedtuple: A unit is set on a named tuple in a list that is compiled.
from typing import NamedTuple

import jax
import jax.numpy as jnp


class _Vec(NamedTuple):
    x: jax.Array
    y: jax.Array
    unit: jax.Array = jnp.array(1.0)  #~


class Vec(_Vec):
    #~ unit = 1.0
    def length(self):
        return jnp.hypot(self.x, self.y) * self.unit


def in_unit(v, unit):
    return v._replace(unit=jnp.array(unit))  #~ v.unit = unit  #! attribute-on-namedtuple
    #~ return v


@jax.jit
def total_length(vs):
    return sum(v.length() for v in vs)


def main():
    vs = [in_unit(Vec(jnp.array(3.0), jnp.array(4.0)), 100.0) for _ in range(3)]
    print(total_length(vs))


if __name__ == "__main__":
    main()
