# A mapped function that splits its key well, over an array of no keys at all.
import jax


def sample(key):
    left, right = jax.random.split(key)
    return jax.random.bits(left) + jax.random.bits(right)


def main():
    keys = jax.random.split(jax.random.key(0), 0)
    print(jax.vmap(sample)(keys).shape)


if __name__ == "__main__":
    main()
