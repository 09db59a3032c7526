# A longer split of the same key starts with the rows of the shorter one.
import jax


def main():
    key = jax.random.key(0)
    short = jax.random.split(key, 2)
    long = jax.random.split(key, 5)  #! key-reused
    print(jax.random.normal(short[0]))
    print(jax.random.normal(long[0]))  #! key-reused


if __name__ == "__main__":
    main()
