# Evolution strategies: every leaf of the parameters is perturbed with the same key.
import jax
import jax.numpy as jnp


def perturb(params, key, scale):
    def noisy(leaf):
        return leaf + scale * jax.random.normal(key, leaf.shape)  #! key-reused same-key-in-loop same-key-across-vmap

    return jax.tree.map(noisy, params)  #! key-reused same-key-in-loop same-key-across-vmap


def main():
    params = {"actor": jnp.zeros((2, 2)), "critic": jnp.zeros((2, 2))}
    print(perturb(params, jax.random.key(0), 0.1))


if __name__ == "__main__":
    main()
