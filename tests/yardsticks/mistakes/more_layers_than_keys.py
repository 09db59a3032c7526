# Five indices into four keys: JAX clamps the last one, so two layers are alike.
import jax


def main():
    keys = jax.random.split(jax.random.key(0), 4)
    weights = [
        jax.random.normal(keys[0], (2, 2)),
        jax.random.normal(keys[1], (2, 2)),
        jax.random.normal(keys[2], (2, 2)),
        jax.random.normal(keys[3], (2, 2)),
        jax.random.normal(keys[4], (2, 2)),  #! too-few-subkeys
    ]
    print(len(weights))


if __name__ == "__main__":
    main()
