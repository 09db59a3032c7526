# The policy samples its action and the environment steps with the same key.
import jax
import jax.numpy as jnp


class Pendulum:
    def step(self, key, state, action):
        wind = 0.01 * jax.random.normal(key)
        return state + action + wind


def rollout(rng, state):
    env = Pendulum()
    rng, step_rng = jax.random.split(rng)
    action = jax.random.uniform(step_rng, (), minval=-2.0, maxval=2.0)
    state = env.step(step_rng, state, action)  #! key-reused
    return state, rng


def main():
    print(rollout(jax.random.PRNGKey(0), jnp.float32(0.0))[0])


if __name__ == "__main__":
    main()
