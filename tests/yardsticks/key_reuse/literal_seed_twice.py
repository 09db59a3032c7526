# Two keys from the same literal seed are the same key; it may be meant, so a warning at most.
import jax


def main():
    weights = jax.random.normal(jax.random.key(0), (4,))
    data = jax.random.normal(jax.random.key(0), (4,))  # ? key-reused
    print(weights @ data)


if __name__ == "__main__":
    main()
