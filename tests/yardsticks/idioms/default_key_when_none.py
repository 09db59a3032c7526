# A default seed where the caller gives no key.
import jax


def sample_posterior(mean, key=None):
    if key is None:
        key = jax.random.key(0)
    noise_key, scale_key = jax.random.split(key)
    return mean + jax.random.normal(noise_key) * jax.random.exponential(scale_key)


def main():
    print(sample_posterior(1.0), sample_posterior(1.0, jax.random.key(5)))


if __name__ == "__main__":
    main()
