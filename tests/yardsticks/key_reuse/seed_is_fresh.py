# A key made from a seed is fresh: one draw from it is fine.
import jax


def main():
    key = jax.random.key(0)
    print(jax.random.normal(key, (3,)))


if __name__ == "__main__":
    main()
