# Rollout: the step splits the key but puts the old one back into the runner state.
import jax
import jax.numpy as jnp


def env_step(runner_state, _):
    obs, rng = runner_state
    new_rng, action_rng = jax.random.split(rng)  #! same-key-in-loop
    action = jax.random.normal(action_rng, obs.shape)  #! same-key-in-loop
    return (obs + 0.1 * action, rng), action


def main():
    print(jax.lax.scan(env_step, (jnp.zeros(3), jax.random.key(0)), None, 10)[1])


if __name__ == "__main__":
    main()
