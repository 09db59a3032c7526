# Reading the integers behind a key does not use it up.
import jax


def main():
    key = jax.random.key(0)
    print("seeded with", jax.random.key_data(key))
    print(jax.random.normal(key))


if __name__ == "__main__":
    main()
