# The same row of a split, written out twice.
import jax


def main():
    keys = jax.random.split(jax.random.key(0))
    print(jax.random.normal(keys[0]))
    print(jax.random.normal(keys[0]))  #! key-reused


if __name__ == "__main__":
    main()
