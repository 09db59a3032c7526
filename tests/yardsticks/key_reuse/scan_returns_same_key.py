# The carry hands on the key it has just drawn from.
import jax
import jax.numpy as jnp


def step(key, _):
    return key, jax.random.bits(key)  #! same-key-in-loop


def main():
    print(jax.lax.scan(step, jax.random.key(0), jnp.arange(10)))  #! same-key-in-loop


if __name__ == "__main__":
    main()
