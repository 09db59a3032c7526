# NumPy draws once, while JAX traces: every later call repeats that number.
import jax
import numpy as np


@jax.jit
def jitter(x):
    return x + np.random.normal()  #! python-random-in-traced-code


def main():
    print(jitter(1.0), jitter(1.0))


if __name__ == "__main__":
    main()
