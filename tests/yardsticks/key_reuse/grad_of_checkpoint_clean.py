# The backward pass runs the draw again with the same key: that is how rematerialisation works.
import jax
import jax.numpy as jnp


@jax.checkpoint
def noisy(x, key):
    return x * jax.random.normal(key)


def main():
    noise_key, slope_key = jax.random.split(jax.random.key(0))
    print(noisy(jnp.float32(1.0), noise_key))
    print(jax.grad(noisy)(jnp.float32(1.0), slope_key))


if __name__ == "__main__":
    main()
