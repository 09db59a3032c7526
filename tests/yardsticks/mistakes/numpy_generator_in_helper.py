# A helper of a differentiated function asks a NumPy generator for its noise.
import jax
import jax.numpy as jnp
import numpy as np

GENERATOR = np.random.default_rng(0)


def augment(x):
    return x + GENERATOR.normal(size=x.shape)  #! python-random-in-traced-code


@jax.jit
def gradient(weights, x):
    return jax.grad(lambda w: jnp.sum((augment(x) @ w) ** 2))(weights)


def main():
    print(gradient(jnp.ones(2), jnp.ones((3, 2))))


if __name__ == "__main__":
    main()
