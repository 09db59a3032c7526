# A generator function that splits forever and yields a new key each time.
import jax


def key_stream(key):
    while True:
        key, subkey = jax.random.split(key)
        yield subkey


def main():
    keys = key_stream(jax.random.key(0))
    print(jax.random.normal(next(keys)), jax.random.uniform(next(keys)))


if __name__ == "__main__":
    main()
