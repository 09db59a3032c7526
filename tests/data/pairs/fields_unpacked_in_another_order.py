# flatten-loses-field: The fields come back in each other's place.
import jax
import jax.numpy as jnp


class Affine:
    def __init__(self, scale, shift):
        self.scale = scale
        self.shift = shift

    def __call__(self, x):
        return x * self.scale + self.shift


def _flatten(a):
    return (a.scale, a.shift), None


def _unflatten(_, leaves):
    scale, shift = leaves  #~ shift, scale = leaves
    return Affine(scale, shift)  #! flatten-loses-field


jax.tree_util.register_pytree_node(Affine, _flatten, _unflatten)


@jax.jit
def apply(layer, x):
    return layer(x)


def main():
    layer = Affine(jnp.full(3, 2.0), jnp.full(3, -1.0))
    print(apply(layer, jnp.arange(3.0)), layer(jnp.arange(3.0)))


main()
