# A child made by `fold_in` and never used, then one draw from the parent.
import jax


def main():
    key = jax.random.key(0)
    _ = jax.random.fold_in(key, 1)
    print(jax.random.uniform(key))


if __name__ == "__main__":
    main()
