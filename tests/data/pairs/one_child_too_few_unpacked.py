# flatten-loses-field: Three children, two names.
import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class Filter:
    def __init__(self, mean, cov, gain):
        self.mean = mean
        self.cov = cov
        self.gain = gain

    def tree_flatten(self):
        return (self.mean, self.cov, self.gain), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        mean, cov, gain = children  #~ mean, cov = children  #! flatten-loses-field
        return cls(mean, cov, gain)  #~ return cls(mean, cov, 0.0)


@jax.jit
def predict(belief):
    return Filter(belief.mean * 0.9, belief.cov + 0.1, belief.gain)


def main():
    print(predict(Filter(jnp.zeros(2), jnp.eye(2), jnp.ones(2))).cov)


main()
