# A used key may be passed on to a function that does not touch it.
import jax


@jax.jit
def double(key, x):
    del key
    return 2 * x


def main():
    key = jax.random.key(0)
    x = jax.random.normal(key)
    print(double(key, x))


if __name__ == "__main__":
    main()
