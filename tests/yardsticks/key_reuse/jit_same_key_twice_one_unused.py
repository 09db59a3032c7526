# One key goes into a jitted function twice, but only one of the two parameters is drawn from.
import jax


@jax.jit
def sample(key, spare):
    del spare
    return jax.random.normal(key)


def main():
    key = jax.random.key(0)
    print(sample(key, key))


if __name__ == "__main__":
    main()
