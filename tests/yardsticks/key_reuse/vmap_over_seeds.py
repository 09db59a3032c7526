# Each row makes its own key from its own seed.
import jax
import jax.numpy as jnp


@jax.vmap
def sample(seed):
    return jax.random.bits(jax.random.key(seed))


def main():
    print(sample(jnp.arange(4)))


if __name__ == "__main__":
    main()
