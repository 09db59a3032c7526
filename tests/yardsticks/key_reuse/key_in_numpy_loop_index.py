# Rows of a split picked by the loop counter.
import jax


def main():
    keys = jax.random.split(jax.random.key(0), 4)
    for i in range(4):
        print(jax.random.normal(keys[i]))


if __name__ == "__main__":
    main()
