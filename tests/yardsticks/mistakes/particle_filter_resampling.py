# Particle filter: movement and resampling of each step share a key.
import jax
import jax.numpy as jnp


def filter_step(particles, inputs):
    key, observation = inputs
    particles = particles + jax.random.normal(key, particles.shape)
    weights = jax.nn.softmax(-0.5 * (particles - observation) ** 2)
    chosen = jax.random.choice(key, particles.shape[0], particles.shape, p=weights)  #! key-reused
    return particles[chosen], particles.mean()


def main():
    key, start_key = jax.random.split(jax.random.key(0))
    observations = jnp.linspace(0.0, 1.0, 6)
    particles = jax.random.normal(start_key, (32,))
    print(jax.lax.scan(filter_step, particles, (jax.random.split(key, 6), observations))[1])


if __name__ == "__main__":
    main()
