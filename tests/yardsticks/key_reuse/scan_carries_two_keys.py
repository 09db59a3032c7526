# Two keys in the carry: the first is split into both, the second is dropped.
import jax
import jax.numpy as jnp


def step(keys, x):
    left, _ = keys
    left, right = jax.random.split(left)
    return (left, right), x


def main():
    carry = (jax.random.key(0), jax.random.key(1))
    print(jax.lax.scan(step, carry, jnp.arange(10))[1])


if __name__ == "__main__":
    main()
