# Every leaf of a batch of transitions is shuffled with one key: the same order for all.
import jax
import jax.numpy as jnp


def shuffle(batch, key):
    def shuffle_leaf(leaf):
        return jax.random.permutation(key, leaf, axis=0)  # ? key-reused same-key-across-vmap same-key-in-loop

    return jax.tree.map(shuffle_leaf, batch)  # ? key-reused same-key-across-vmap same-key-in-loop


def main():
    batch = {"obs": jnp.zeros((6, 2)), "action": jnp.arange(6), "reward": jnp.ones(6)}
    rng, shuffle_rng = jax.random.split(jax.random.key(0))
    print(shuffle(batch, shuffle_rng)["action"], jax.random.normal(rng))


if __name__ == "__main__":
    main()
