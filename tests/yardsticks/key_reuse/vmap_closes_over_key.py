# The mapped function closes over one key: all rows get the same noise.
import jax
import jax.numpy as jnp


def main():
    key = jax.random.key(0)
    batch = jnp.zeros((8, 3))

    def jitter(x):
        return x + jax.random.normal(key, x.shape)  #! same-key-across-vmap

    print(jax.vmap(jitter)(batch))  #! same-key-across-vmap


if __name__ == "__main__":
    main()
