# Copying the array of a key does not make a new key.
import jax
import jax.numpy as jnp


def main():
    key = jax.random.key(0)
    backup = jnp.array(key, copy=True)
    print(jax.random.normal(key))
    print(jax.random.normal(backup))  #! key-reused


if __name__ == "__main__":
    main()
