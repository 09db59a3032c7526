# flatten-loses-field: JAX gives the structure first, then the children.
import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class Polynomial:
    def __init__(self, coefficients, degree):
        self.coefficients = coefficients
        self.degree = degree

    def tree_flatten(self):
        return (self.coefficients,), self.degree

    @classmethod
    def tree_unflatten(cls, degree, children):  #~ def tree_unflatten(cls, children, degree):
        return cls(children[0], degree)  #! flatten-loses-field

    def __call__(self, x):
        powers = jnp.stack([x**i for i in range(self.degree + 1)])
        return jnp.dot(self.coefficients, powers)


def main():
    poly = Polynomial(jnp.array([1.0, 2.0, 3.0]), 2)
    print(jax.jit(lambda p, x: p(x))(poly, 2.0))


main()
