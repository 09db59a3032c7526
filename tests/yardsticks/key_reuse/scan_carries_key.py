# The carry of a scan is split in every step.
import jax
import jax.numpy as jnp


def step(key, _):
    key, draw_key = jax.random.split(key)
    return key, jax.random.bits(draw_key)


def main():
    _, draws = jax.lax.scan(step, jax.random.key(0), jnp.arange(10))
    print(draws)


if __name__ == "__main__":
    main()
