# The seed of each row is drawn by Python, once for all rows.
import random

import jax
import jax.numpy as jnp


def sample(x):
    key = jax.random.key(random.randrange(1 << 30))  #! python-random-in-traced-code
    return x + jax.random.normal(key)


def main():
    print(jax.vmap(sample)(jnp.zeros(4)))  #? same-key-across-vmap


if __name__ == "__main__":
    main()
