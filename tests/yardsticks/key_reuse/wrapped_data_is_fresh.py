# A key rebuilt from stored integers is fresh.
import jax
import jax.numpy as jnp


def main():
    stored = jnp.array([0, 7], dtype=jnp.uint32)
    key = jax.random.wrap_key_data(stored)
    print(jax.random.normal(key))


if __name__ == "__main__":
    main()
