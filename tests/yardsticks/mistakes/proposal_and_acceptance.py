# Metropolis: the move and its acceptance are decided by one key.
import jax
import jax.numpy as jnp


def metropolis(key, x, log_density):
    proposal = x + jax.random.normal(key, x.shape)
    log_u = jnp.log(jax.random.uniform(key))  #! key-reused
    return jnp.where(log_u < log_density(proposal) - log_density(x), proposal, x)


def main():
    print(metropolis(jax.random.key(0), jnp.zeros(2), lambda x: -0.5 * jnp.sum(x**2)))


if __name__ == "__main__":
    main()
