# A row of a key array is replaced by another key, which is then drawn from by itself.
import jax


def main():
    keys = jax.random.split(jax.random.key(0), 4)
    extra = jax.random.key(9)
    mixed = keys.at[2].set(extra)
    print(jax.vmap(jax.random.normal)(mixed))
    print(jax.random.normal(extra))  #! key-reused


if __name__ == "__main__":
    main()
