# Physics reset: position and velocity noise come from one key, so they are the same numbers.
import jax
import jax.numpy as jnp


def reset(rng):
    rng, joint_rng = jax.random.split(rng)
    position = 0.1 * jax.random.uniform(joint_rng, (3,), minval=-1.0, maxval=1.0)
    velocity = 0.1 * jax.random.uniform(joint_rng, (3,), minval=-1.0, maxval=1.0)  #! key-reused
    return jnp.concatenate([position, velocity]), rng


def main():
    print(reset(jax.random.PRNGKey(0))[0])


if __name__ == "__main__":
    main()
