# A jitted function draws from a key it closes over; calling it twice gives one number twice.
import jax


def main():
    key = jax.random.key(0)

    @jax.jit
    def sample():
        return jax.random.uniform(key)  #! key-reused

    first = sample()
    second = sample()  #! key-reused
    print(first, second)


if __name__ == "__main__":
    main()
