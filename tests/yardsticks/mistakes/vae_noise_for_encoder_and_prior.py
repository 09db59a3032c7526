# A variational autoencoder whose posterior and prior samples are the same noise.
import jax
import jax.numpy as jnp


def sample_latent(key, mean, scale):
    return mean + scale * jax.random.normal(key, mean.shape)


def train_step(weights, x, rng):
    def loss(weights):
        z = sample_latent(rng, weights * x, 1.0)
        prior = sample_latent(rng, jnp.zeros_like(x), 1.0)  #! key-reused
        return jnp.mean((z - prior) ** 2)

    return jax.value_and_grad(loss)(weights)


def main():
    data_key, step_key = jax.random.split(jax.random.key(0))
    print(train_step(jnp.float32(1.0), jax.random.normal(data_key, (4,)), step_key))


if __name__ == "__main__":
    main()
