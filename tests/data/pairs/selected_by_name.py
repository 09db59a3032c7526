# flatten-loses-field: A field is missing in the list of names.
import jax
import jax.numpy as jnp

LEAVES = ("mean", "var", "count")  #~ LEAVES = ("mean", "var")


@jax.tree_util.register_pytree_node_class
class Welford:
    def __init__(self, mean, var, count=0.0):
        self.mean = mean
        self.var = var
        self.count = count

    def tree_flatten(self):
        return tuple(getattr(self, name) for name in LEAVES), None  #! flatten-loses-field

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

    def update(self, x):
        count = self.count + 1.0
        delta = x - self.mean
        mean = self.mean + delta / count
        return Welford(mean, self.var + delta * (x - mean), count)


@jax.jit
def add(stats, x):
    return stats.update(x)


def main():
    stats = Welford(jnp.zeros(2), jnp.zeros(2), 0.0)
    for x in jnp.ones((3, 2)):
        stats = add(stats, x)
    print(stats.count)


main()
