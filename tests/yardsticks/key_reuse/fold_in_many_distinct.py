# Ten different numbers folded into one key give ten different keys.
import jax


def main():
    key = jax.random.key(0)
    children = [jax.random.fold_in(key, i) for i in range(10)]
    print([jax.random.uniform(child) for child in children])


if __name__ == "__main__":
    main()
