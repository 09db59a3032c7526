# tree-structure-mismatch: Leaves of parameters and statistics, structure of parameters.
import jax
import jax.numpy as jnp


def init(key):
    first, second = jax.random.split(key)
    return {
        "dense": {"kernel": jax.random.normal(first, (4, 8)), "bias": jnp.zeros(8)},
        "head": {"kernel": jax.random.normal(second, (8, 2)), "bias": jnp.zeros(2)},
    }


def clipped(params, stats, limit):
    leaves, treedef = jax.tree.flatten(params)
    everything = jax.tree.leaves(params)  #~ everything = jax.tree.leaves((params, stats))
    small = [jnp.clip(leaf, -limit, limit) for leaf in everything]
    return jax.tree.unflatten(treedef, small)  #! tree-structure-mismatch


def main():
    params = init(jax.random.key(0))
    stats = {"mean": jnp.zeros(8)}
    print(clipped(params, stats, 0.5)["head"]["bias"])


main()
