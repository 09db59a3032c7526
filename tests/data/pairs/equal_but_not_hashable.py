# static-argument-misuse: Equality without a hash.
import jax
import jax.numpy as jnp
from functools import partial


class Kernel:
    def __init__(self, width):
        self.width = width

    def __eq__(self, other):
        return isinstance(other, Kernel) and self.width == other.width

    def __hash__(self):  #~
        return hash(self.width)  #~


@partial(jax.jit, static_argnums=0)
def smooth(kernel, x):
    return jnp.convolve(x, jnp.ones(kernel.width) / kernel.width, mode="same")


def main():
    print(smooth(Kernel(3), jnp.arange(6.0)))  #! static-argument-misuse


main()
