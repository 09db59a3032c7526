# NumPy noise in a jitted loss: it is drawn once and then baked into the program.
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def loss(weights, x):
    noisy = x + 0.1 * np.random.randn(*x.shape)  #! python-random-in-traced-code
    return jnp.mean((noisy @ weights) ** 2)


def main():
    weights, x = jnp.ones(3), jnp.ones((5, 3))
    print(loss(weights, x), loss(weights, x))


if __name__ == "__main__":
    main()
