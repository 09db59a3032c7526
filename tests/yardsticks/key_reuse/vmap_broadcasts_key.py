# With `in_axes=None` every row of the batch gets the same key, so all rows get the same noise.
import jax
import jax.numpy as jnp


def jitter(key, x):
    return x + jax.random.normal(key, x.shape)  #! same-key-across-vmap


def main():
    batch = jnp.zeros((8, 3))
    noisy = jax.vmap(jitter, in_axes=(None, 0))(jax.random.key(0), batch)  #! same-key-across-vmap
    print(noisy)


if __name__ == "__main__":
    main()
