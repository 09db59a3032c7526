# One row is drawn from, then the whole array of keys is mapped over.
import jax


def main():
    keys = jax.random.split(jax.random.key(0), 4)
    probe = jax.random.normal(keys[0])
    batch = jax.vmap(jax.random.normal)(keys)  #! key-reused
    print(probe, batch)


if __name__ == "__main__":
    main()
