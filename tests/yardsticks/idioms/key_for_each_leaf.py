# As many keys as leaves, put back into the tree's own structure.
import jax
import jax.numpy as jnp


def tree_noise(key, tree):
    treedef = jax.tree.structure(tree)
    keys = jax.tree.unflatten(treedef, jax.random.split(key, treedef.num_leaves))
    return jax.tree.map(lambda leaf, leaf_key: leaf + jax.random.normal(leaf_key, leaf.shape), tree, keys)


def main():
    params = {"w": jnp.zeros((2, 2)), "b": jnp.zeros(2)}
    print(tree_noise(jax.random.key(0), params))


if __name__ == "__main__":
    main()
