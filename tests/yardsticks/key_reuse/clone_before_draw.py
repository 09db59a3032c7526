# A clone taken before the draw stays usable after it.
import jax


def main():
    key = jax.random.key(0)
    spare = jax.random.clone(key)
    print(jax.random.uniform(key))
    print(jax.random.uniform(spare))


if __name__ == "__main__":
    main()
