# flatten-loses-field: JAX calls it on the class.
import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class Sphere:
    def __init__(self, center, radius):
        self.center = center
        self.radius = radius

    def tree_flatten(self):
        return (self.center, self.radius), None

    @classmethod  #~
    def tree_unflatten(cls, aux, children):  #! flatten-loses-field
        return cls(*children)


@jax.jit
def distance(sphere, x):
    return jnp.linalg.norm(x - sphere.center) - sphere.radius


def main():
    print(distance(Sphere(jnp.zeros(3), 1.0), jnp.ones(3)))


main()
