# array-in-static-field: The running mean travels as structure.
import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class Normalizer:
    def __init__(self, scale, mean, eps):
        self.scale = scale
        self.mean = mean
        self.eps = eps

    def tree_flatten(self):
        children = [self.scale]
        settings = {"eps": self.eps}
        children.append(self.mean)  #~ settings["mean"] = self.mean  #! array-in-static-field
        return children, settings

    @classmethod
    def tree_unflatten(cls, settings, children):
        return cls(*children, **settings)

    def __call__(self, x):
        return self.scale * (x - self.mean) / (1.0 + self.eps)


@jax.jit
def apply(norm, x):
    return norm(x)


def main():
    x = jnp.arange(6.0).reshape(2, 3)
    norm = Normalizer(jnp.ones(3), jnp.mean(x, axis=0), 1e-5)
    print(apply(norm, x))
    again = Normalizer(jnp.ones(3), jnp.mean(x + 1, axis=0), 1e-5)
    print(apply(again, x))


main()
