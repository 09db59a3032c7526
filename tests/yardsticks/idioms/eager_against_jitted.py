# A test gives one key to two versions of a function because it compares what they give.
import jax
import numpy as np


def sample(key, shape):
    return jax.random.normal(key, shape)


def main():
    key = jax.random.key(0)
    eager = sample(key, (3,))
    jitted = jax.jit(sample, static_argnums=1)(key, (3,))  # ? key-reused
    np.testing.assert_allclose(eager, jitted, rtol=1e-5)


if __name__ == "__main__":
    main()
