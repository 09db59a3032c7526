# One key for each environment, made by one split.
import jax


def reset(key):
    position_key, velocity_key = jax.random.split(key)
    return jax.random.uniform(position_key, (2,)), 0.1 * jax.random.normal(velocity_key, (2,))


def main():
    rng = jax.random.PRNGKey(0)
    rng, reset_rng = jax.random.split(rng)
    keys = jax.random.split(reset_rng, 16)
    positions, velocities = jax.vmap(reset)(keys)
    rng, noise_rng = jax.random.split(rng)
    print(positions.shape, velocities.shape, jax.random.normal(noise_rng))


if __name__ == "__main__":
    main()
