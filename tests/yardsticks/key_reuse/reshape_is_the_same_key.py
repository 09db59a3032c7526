# Reshaping a key gives the same key.
import jax


def main():
    key = jax.random.key(0)
    boxed = key.reshape((1, *key.shape))
    first = jax.random.bits(key)
    second = jax.random.bits(boxed[0])  #! key-reused
    print(first + second)


if __name__ == "__main__":
    main()
