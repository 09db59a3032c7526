# The same integers wrapped into a second key give the same numbers again.
import jax


def main():
    key = jax.random.key(0)
    restored = jax.random.wrap_key_data(jax.random.key_data(key))
    print(jax.random.normal(key))
    print(jax.random.normal(restored))  #! key-reused


if __name__ == "__main__":
    main()
