# A jitted function draws from its key and hands the same key back.
import jax


@jax.jit
def start(seed):
    key = jax.random.key(seed)
    return jax.random.normal(key), key


def main():
    value, key = start(0)
    print(value, jax.random.normal(key))  #! key-reused


if __name__ == "__main__":
    main()
