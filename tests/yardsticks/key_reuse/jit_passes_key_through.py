# A jitted function that only returns the key it closes over gives the same key.
import jax


def main():
    key = jax.random.key(0)
    same = jax.jit(lambda: key)()
    print(jax.random.normal(key))
    print(jax.random.normal(same))  #! key-reused


if __name__ == "__main__":
    main()
