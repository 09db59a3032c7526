# One key for all devices: each device draws the same noise.
import jax
import jax.numpy as jnp


def main():
    count = jax.local_device_count()

    def jitter(key, x):
        return x + jax.random.normal(key, x.shape)  #! same-key-across-vmap

    noisy = jax.pmap(jitter, in_axes=(None, 0))  #! same-key-across-vmap
    print(noisy(jax.random.key(0), jnp.zeros((count, 3))))  #! same-key-across-vmap


if __name__ == "__main__":
    main()
