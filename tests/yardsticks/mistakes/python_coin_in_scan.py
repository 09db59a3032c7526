# Python's coin is tossed once, while the body of the scan is traced.
import random

import jax
import jax.numpy as jnp


def step(x, _):
    direction = random.choice([-1.0, 1.0])  #! python-random-in-traced-code
    return x + direction, x


def main():
    print(jax.lax.scan(step, jnp.float32(0.0), None, length=8)[1])


if __name__ == "__main__":
    main()
