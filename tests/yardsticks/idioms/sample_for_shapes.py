# A dummy key is used several times, only to learn the shapes of what an environment gives.
import jax
import jax.numpy as jnp


def reset(key):
    return jax.random.uniform(key, (3,))


def step(key, state, action):
    return state + action + jax.random.normal(key, (3,))


def main():
    key, run_key = jax.random.split(jax.random.key(0))
    dummy_key = jax.random.key(1)
    state = reset(dummy_key)
    following = step(dummy_key, state, jnp.ones(3))  # ? key-reused
    buffer = jnp.zeros((10, *following.shape))
    print(buffer.shape, jax.random.normal(run_key), key)


if __name__ == "__main__":
    main()
