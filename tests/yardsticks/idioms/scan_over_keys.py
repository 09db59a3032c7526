# The keys of all steps are made beforehand and scanned over.
import jax
import jax.numpy as jnp


def langevin(key, x, num_steps):
    def step(x, step_key):
        noise_key, accept_key = jax.random.split(step_key)
        proposal = x - 0.01 * x + 0.1 * jax.random.normal(noise_key, x.shape)
        accepted = jax.random.uniform(accept_key) < jnp.exp(-jnp.sum(proposal**2))
        return jnp.where(accepted, proposal, x), accepted

    return jax.lax.scan(step, x, jax.random.split(key, num_steps))


def main():
    start_key, chain_key = jax.random.split(jax.random.key(0))
    print(langevin(chain_key, jax.random.normal(start_key, (2,)), 50)[1].mean())


if __name__ == "__main__":
    main()
