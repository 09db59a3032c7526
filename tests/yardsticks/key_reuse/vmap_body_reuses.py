# The mapped function draws twice from the key it made.
import jax
import jax.numpy as jnp


@jax.vmap
def sample(seed):
    key = jax.random.key(seed)
    return jax.random.bits(key) + jax.random.bits(key)  #! key-reused


def main():
    print(sample(jnp.arange(4)))


if __name__ == "__main__":
    main()
