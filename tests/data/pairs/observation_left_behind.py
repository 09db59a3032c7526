# unchanged-carry: The rollout acts on the first observation for ever.
from typing import NamedTuple

import jax
import jax.numpy as jnp


class RunnerState(NamedTuple):
    params: jax.Array
    env_state: jax.Array
    last_obs: jax.Array
    rng: jax.Array


def env_reset(key):
    state = jax.random.uniform(key, (3,), minval=-1.0)
    return state, state * 2.0


def env_step(key, state, action):
    state = 0.95 * state + 0.1 * action + 0.01 * jax.random.normal(key, state.shape)
    return state, state * 2.0, -jnp.sum(state**2), jnp.any(jnp.abs(state) > 2.0)


def make_train(config):
    def policy(params, obs, key):
        return jnp.tanh(params @ obs) + 0.1 * jax.random.normal(key, (3,))

    def train(rng):
        rng, k_reset, k_params = jax.random.split(rng, 3)
        env_state, obs = jax.vmap(env_reset)(jax.random.split(k_reset, config["NUM_ENVS"]))
        runner = RunnerState(jax.random.normal(k_params, (3, 3)), env_state, obs, rng)

        def _env_step(runner, _):
            rng, k_act, k_env = jax.random.split(runner.rng, 3)
            act_keys = jax.random.split(k_act, config["NUM_ENVS"])
            action = jax.vmap(policy, in_axes=(None, 0, 0))(runner.params, runner.last_obs, act_keys)
            env_keys = jax.random.split(k_env, config["NUM_ENVS"])
            env_state, obs, reward, done = jax.vmap(env_step)(env_keys, runner.env_state, action)  #! unchanged-carry
            runner = RunnerState(runner.params, env_state, obs, rng)  #~ runner = RunnerState(runner.params, env_state, runner.last_obs, rng)
            return runner, (reward, done)

        runner, traj = jax.lax.scan(_env_step, runner, None, config["NUM_STEPS"])
        return runner, traj

    return train


def main():
    train = jax.jit(make_train({"NUM_ENVS": 4, "NUM_STEPS": 16}))
    runner, (reward, done) = train(jax.random.PRNGKey(0))
    print(float(reward.mean()), int(done.sum()))


if __name__ == "__main__":
    main()
