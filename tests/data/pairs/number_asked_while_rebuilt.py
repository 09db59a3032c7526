# rebuild-needs-values: The constructor asks for a number, and every transformation calls it.
import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class Gaussian:
    def __init__(self, mean, scale):
        self.mean = mean
        self.scale = scale  #~ self.scale = float(scale)  #! rebuild-needs-values

    def tree_flatten(self):
        return (self.mean, self.scale), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

    def log_prob(self, x):
        return -0.5 * ((x - self.mean) / self.scale) ** 2 - jnp.log(self.scale)


@jax.jit
def loss(dist, x):
    return -jnp.mean(dist.log_prob(x))


def main():
    print(loss(Gaussian(0.0, 2.0), jnp.arange(4.0)))


main()
