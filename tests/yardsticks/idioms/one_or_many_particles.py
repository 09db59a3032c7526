# Either the key itself goes to the one particle, or it is split for many.
import jax
import jax.numpy as jnp


def elbo(key, num_particles):
    def single(key):
        guide_key, model_key = jax.random.split(key)
        return jax.random.normal(guide_key) - jax.random.normal(model_key)

    if num_particles == 1:
        return single(key)
    return jnp.mean(jax.vmap(single)(jax.random.split(key, num_particles)))


def main():
    first, second = jax.random.split(jax.random.key(0))
    print(elbo(first, 1), elbo(second, 8))


if __name__ == "__main__":
    main()
