# With JAX's default generator row i of a split is the key that folding in i gives.
import jax


def main():
    key = jax.random.key(0)
    keys = jax.random.split(key, 4)
    other = jax.random.fold_in(key, 2)
    print(jax.random.normal(keys[2]))
    print(jax.random.normal(other))  #! key-reused


if __name__ == "__main__":
    main()
