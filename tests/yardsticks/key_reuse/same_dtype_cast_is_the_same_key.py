# Casting a key to its own dtype gives the same key.
import jax
import jax.numpy as jnp


def main():
    key = jax.random.key(0)
    cast = jnp.asarray(key, dtype=key.dtype)
    print(jax.random.uniform(key))
    print(jax.random.uniform(cast))  #! key-reused


if __name__ == "__main__":
    main()
