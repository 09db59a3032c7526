# branch-type-mismatch: Branches give objects of other structure.
import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class Poly:
    def __init__(self, coefs, degree):
        self.coefs = coefs
        self.degree = degree

    def tree_flatten(self):
        return (self.coefs,), (self.degree,)

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(children[0], aux[0])


def keep(p):
    return Poly(p.coefs, 2)


def derive(p):
    return Poly(p.coefs * 2.0, 2)  #~ return Poly(p.coefs * 2.0, 1)


@jax.jit
def maybe(p, flag):
    return jax.lax.cond(flag, keep, derive, p)  #! branch-type-mismatch


def main():
    print(maybe(Poly(jnp.ones(3), 2), True).coefs)


main()
