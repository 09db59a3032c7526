# The rows of a split are new keys, each used once.
import jax


def main():
    key = jax.random.key(0)
    weight_key, bias_key = jax.random.split(key)
    print(jax.random.uniform(weight_key) + jax.random.uniform(bias_key))


if __name__ == "__main__":
    main()
