# A key named inside the expression that makes it.
import jax


def main():
    key = jax.random.key(0)
    print((pair := jax.random.split(key)).shape, jax.random.normal(pair[0]), jax.random.normal(pair[1]))


if __name__ == "__main__":
    main()
