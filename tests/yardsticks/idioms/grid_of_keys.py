# A grid of keys from one split, mapped over twice.
import jax


def main():
    keys = jax.random.split(jax.random.key(0), (3, 5))
    sample = jax.vmap(jax.vmap(lambda key: jax.random.normal(key, (2,))))
    print(sample(keys).shape)


if __name__ == "__main__":
    main()
