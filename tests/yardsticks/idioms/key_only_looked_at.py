# Printing, saving and asking for the shape of a key does not use it up.
import jax
import numpy as np


def main():
    key = jax.random.key(3)
    print("starting from", key, key.shape, key.dtype)
    saved = np.asarray(jax.random.key_data(key))
    print(saved.tobytes().hex(), jax.random.normal(key))


if __name__ == "__main__":
    main()
