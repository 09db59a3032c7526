# Raw bits count as a draw.
import jax


def main():
    key = jax.random.key(0)
    low = jax.random.bits(key, (2,), "uint32")
    high = jax.random.bits(key, (2,), "uint32")  #! key-reused
    print(low, high)


if __name__ == "__main__":
    main()
