# A jitted sampler uses up the key it is given.
import jax


def main():
    sample = jax.jit(jax.random.bits)
    key = jax.random.key(0)
    first = sample(key)
    second = sample(key)  #! key-reused
    print(first, second)


if __name__ == "__main__":
    main()
