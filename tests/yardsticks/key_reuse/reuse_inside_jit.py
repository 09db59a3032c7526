# Two draws from one key inside a jitted function.
import jax


@jax.jit
def sample():
    key = jax.random.key(0)
    return jax.random.bits(key) + jax.random.bits(key)  #! key-reused


def main():
    print(sample())


if __name__ == "__main__":
    main()
