# Comparing two keys uses neither of them up.
import jax


def main():
    mine = jax.random.key(0)
    yours = jax.random.key(1)
    print("same key", mine == yours, "different keys", mine != yours)
    print(jax.random.normal(mine), jax.random.normal(yours))


if __name__ == "__main__":
    main()
