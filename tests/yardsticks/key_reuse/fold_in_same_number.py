# The same number folded into one key twice gives the same key twice.
import jax


def main():
    key = jax.random.key(0)
    dropout_key = jax.random.fold_in(key, 1)
    noise_key = jax.random.fold_in(key, 1)
    print(jax.random.bernoulli(dropout_key))
    print(jax.random.normal(noise_key))  #! key-reused


if __name__ == "__main__":
    main()
