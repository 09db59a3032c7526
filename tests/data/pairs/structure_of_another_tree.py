# tree-structure-mismatch: Leaves of the encoder are put into the structure of the head.
import jax
import jax.numpy as jnp


def init(key):
    k1, k2 = jax.random.split(key)
    encoder = {"kernel": jax.random.normal(k1, (4, 8)), "bias": jnp.zeros(8), "scale": jnp.ones(8)}
    head = {"kernel": jax.random.normal(k2, (8, 2)), "bias": jnp.zeros(2)}
    return encoder, head


def perturb(key, tree, other, sigma):
    leaves, treedef = jax.tree.flatten(tree)
    _, otherdef = jax.tree.flatten(other)
    keys = jax.random.split(key, len(leaves))
    noisy = [leaf + sigma * jax.random.normal(k, leaf.shape) for leaf, k in zip(leaves, keys)]
    return jax.tree.unflatten(treedef, noisy)  #~ return jax.tree.unflatten(otherdef, noisy)  #! tree-structure-mismatch


def main():
    encoder, head = init(jax.random.key(0))
    noisy = perturb(jax.random.key(1), encoder, head, 0.01)
    print(jax.tree.map(jnp.shape, noisy))


main()
