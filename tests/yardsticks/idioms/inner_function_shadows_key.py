# An inner function has a parameter of the same name as the outer key.
import jax


def update(rng_key, state, num_steps):
    choice_key, sample_key = jax.random.split(rng_key)
    start = jax.random.choice(choice_key, state)

    def kernel(rng_key, position):
        def body(position, rng_key):
            return position + jax.random.normal(rng_key), None

        return jax.lax.scan(body, position, jax.random.split(rng_key, num_steps))[0]

    return kernel(sample_key, start)


def main():
    print(update(jax.random.key(0), jax.numpy.arange(5.0), 10))


if __name__ == "__main__":
    main()
