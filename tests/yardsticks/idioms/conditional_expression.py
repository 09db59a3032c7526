# One of two draws, chosen in an expression.
import jax


def offsets(rng_key, weights, systematic):
    return jax.random.uniform(rng_key, ()) if systematic else jax.random.uniform(rng_key, weights.shape)


def main():
    first, second = jax.random.split(jax.random.key(0))
    weights = jax.numpy.ones(4) / 4
    print(offsets(first, weights, True), offsets(second, weights, False))


if __name__ == "__main__":
    main()
