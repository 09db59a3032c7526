# `clone` says out loud that the same numbers are wanted twice.
import jax


def main():
    key = jax.random.key(0)
    first = jax.random.normal(key)
    again = jax.random.normal(jax.random.clone(key))
    print(first == again)


if __name__ == "__main__":
    main()
