# Reuse inside a rematerialised function that is differentiated.
import jax
import jax.numpy as jnp


@jax.checkpoint
def noisy(x, key):
    scale = jax.random.normal(key)
    return x * scale + jax.random.normal(key)  #! key-reused


def main():
    print(jax.value_and_grad(noisy)(jnp.float32(1.0), jax.random.key(0)))


if __name__ == "__main__":
    main()
