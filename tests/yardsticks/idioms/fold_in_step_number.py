# A base key and the number of the step: the usual way to a key that needs no carrying.
import jax


def main():
    base = jax.random.key(0)
    dropout_base, noise_base = jax.random.split(base)
    for step in range(4):
        dropout_key = jax.random.fold_in(dropout_base, step)
        noise_key = jax.random.fold_in(noise_base, step)
        print(jax.random.bernoulli(dropout_key), jax.random.normal(noise_key))


if __name__ == "__main__":
    main()
