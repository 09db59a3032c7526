# Every environment of the batch steps with the same noise.
import jax
import jax.numpy as jnp


def step(key, state, action):
    return state + action + 0.1 * jax.random.normal(key, state.shape)  #! same-key-across-vmap


vector_step = jax.vmap(step, in_axes=(None, 0, 0))  #! same-key-across-vmap


def main():
    rng, step_rng = jax.random.split(jax.random.PRNGKey(0))
    states = jax.random.normal(rng, (4, 2))
    print(vector_step(step_rng, states, jnp.ones((4, 2))))  #! same-key-across-vmap


if __name__ == "__main__":
    main()
