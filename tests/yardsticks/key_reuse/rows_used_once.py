# Two rows of one split, each by its own index.
import jax


def main():
    keys = jax.random.split(jax.random.key(0))
    print(jax.random.normal(keys[0]))
    print(jax.random.normal(keys[1]))


if __name__ == "__main__":
    main()
