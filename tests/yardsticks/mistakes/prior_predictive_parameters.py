# Both parameters of the prior are drawn with the key that was meant for the first.
import jax


def prior_predictive(rng_key, n):
    key_mean, key_scale, key_data = jax.random.split(rng_key, 3)
    mean = jax.random.normal(key_mean)
    scale = jax.random.exponential(key_mean)  #! key-reused
    return mean + scale * jax.random.normal(key_data, (n,)), key_scale


def main():
    print(prior_predictive(jax.random.key(0), 5)[0])


if __name__ == "__main__":
    main()
