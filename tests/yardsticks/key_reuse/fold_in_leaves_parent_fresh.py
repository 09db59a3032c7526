# `fold_in` does not use its key up: the parent may still be drawn from once.
import jax


def main():
    key = jax.random.key(0)
    child = jax.random.fold_in(key, 2)
    print(jax.random.uniform(child), jax.random.uniform(key))


if __name__ == "__main__":
    main()
