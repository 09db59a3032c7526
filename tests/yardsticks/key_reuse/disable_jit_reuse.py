# Reuse with jit switched off.
import jax


def main():
    key = jax.random.key(0)
    with jax.disable_jit():
        first = jax.random.bits(key)
        second = jax.random.bits(key)  #! key-reused
    print(first, second)


if __name__ == "__main__":
    main()
