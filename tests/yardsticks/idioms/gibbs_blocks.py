# Bayesian sampling: one key for each block of a Gibbs sweep.
import jax
import jax.numpy as jnp


def sweep(state, key):
    mean, precision, data = state
    mean_key, precision_key = jax.random.split(key)
    mean = data.mean() + jax.random.normal(mean_key) / jnp.sqrt(precision * data.size)
    rate = 1.0 + 0.5 * jnp.sum((data - mean) ** 2)
    precision = jax.random.gamma(precision_key, 1.0 + 0.5 * data.size) / rate
    return (mean, precision, data), (mean, precision)


def main():
    data_key, chain_key = jax.random.split(jax.random.key(0))
    data = 2.0 + jax.random.normal(data_key, (30,))
    state = (jnp.float32(0.0), jnp.float32(1.0), data)
    print(jax.lax.scan(sweep, state, jax.random.split(chain_key, 100))[1][0].mean())


if __name__ == "__main__":
    main()
