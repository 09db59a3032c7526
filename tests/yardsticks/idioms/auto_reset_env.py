# Automatic reset: the step draws for both outcomes with separate keys and selects one.
import jax
import jax.numpy as jnp


class Environment:
    def reset_env(self, key, params):
        return jax.random.uniform(key, (2,), minval=-params, maxval=params)

    def step_env(self, key, state, action, params):
        state = state + action + 0.01 * jax.random.normal(key, state.shape)
        return state, jnp.abs(state[0]) > params

    def step(self, key, state, action, params):
        key, key_reset = jax.random.split(key)
        stepped, done = self.step_env(key, state, action, params)
        fresh = self.reset_env(key_reset, params)
        return jax.tree.map(lambda x, y: jax.lax.select(done, x, y), fresh, stepped), done


def main():
    env = Environment()
    reset_key, loop_key = jax.random.split(jax.random.PRNGKey(0))
    state = env.reset_env(reset_key, 1.0)
    for key in jax.random.split(loop_key, 3):
        state, done = env.step(key, state, jnp.ones(2), 1.0)
        print(state, done)


if __name__ == "__main__":
    main()
