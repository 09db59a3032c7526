# Exclusive cases of a match statement.
import jax


def sample(key, prior):
    match prior:
        case ("normal", mean, scale):
            return mean + scale * jax.random.normal(key)
        case ("uniform", low, high):
            return jax.random.uniform(key, minval=low, maxval=high)
        case _:
            return jax.random.laplace(key)


def main():
    first, second, third = jax.random.split(jax.random.key(0), 3)
    print(sample(first, ("normal", 0.0, 1.0)), sample(second, ("uniform", 0, 1)), sample(third, None))


if __name__ == "__main__":
    main()
