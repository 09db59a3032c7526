# flatten-loses-field: Unflatten forgets to give the object back.
import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class Buffer:
    def __init__(self, data, index):
        self.data = data
        self.index = index

    def tree_flatten(self):
        return (self.data, self.index), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        data, index = children
        return cls(data, index)  #~ cls(data, index)  #! flatten-loses-field


@jax.jit
def push(buffer, x):
    return Buffer(buffer.data.at[buffer.index].set(x), buffer.index + 1)


def main():
    print(push(Buffer(jnp.zeros(4), 0), 2.0).data)


main()
