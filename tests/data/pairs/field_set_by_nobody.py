# flatten-loses-field: The bias does not survive.
import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class Dense:
    def __init__(self, key, n):
        self.weight = jax.random.normal(key, (n, n))
        self.bias = jnp.zeros(n)
        self.n = n

    def tree_flatten(self):
        return (self.weight, self.bias), self.n  #~ return (self.weight,), self.n  #! flatten-loses-field

    @classmethod
    def tree_unflatten(cls, n, children):
        new = object.__new__(cls)
        new.n = n
        new.weight, new.bias = children  #~ (new.weight,) = children
        return new

    def __call__(self, x):
        return x @ self.weight + self.bias


@jax.jit
def forward(layer, x):
    return layer(x)


def main():
    layer = Dense(jax.random.key(0), 3)
    print(forward(layer, jnp.ones((2, 3))))


main()
