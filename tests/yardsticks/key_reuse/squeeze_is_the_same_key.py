# Squeezing an array of one key gives that key, not a new one.
import jax


def main():
    keys = jax.random.split(jax.random.key(0), 1)
    only = jax.lax.squeeze(keys, (0,))
    first = jax.random.bits(keys[0])
    second = jax.random.bits(only)  #! key-reused
    print(first + second)


if __name__ == "__main__":
    main()
