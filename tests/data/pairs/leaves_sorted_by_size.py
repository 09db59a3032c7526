# tree-structure-mismatch: Leaves go back into the tree in another order.
import jax
import jax.numpy as jnp


def largest_first(tree):
    leaves, treedef = jax.tree.flatten(tree)
    #~ leaves = sorted(leaves, key=lambda leaf: -leaf.size)
    leaves = [leaf / (1 + leaf.size) for leaf in leaves]
    return jax.tree.unflatten(treedef, leaves)  #! tree-structure-mismatch


params = {"bias": jnp.zeros(3), "kernel": jnp.ones((4, 3)), "scale": jnp.ones(3)}
print(jax.tree.map(jnp.shape, largest_first(params)))
