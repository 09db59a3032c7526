# Reinforcement learning: the key travels in the runner state of a scan and is split for each purpose.
import jax
import jax.numpy as jnp

NUM_ENVS = 4
NUM_STEPS = 8


def reset(rng):
    return jax.random.uniform(rng, (3,))


def env_step(rng, obs, action):
    return obs + 0.1 * jax.random.normal(rng, (3,)) + action, -jnp.sum(obs**2)


def make_train(config):
    def train(rng):
        rng, _rng = jax.random.split(rng)
        reset_rng = jax.random.split(_rng, config["NUM_ENVS"])
        obs = jax.vmap(reset)(reset_rng)

        def _env_step(runner_state, unused):
            obs, rng = runner_state
            rng, _rng = jax.random.split(rng)
            action = jax.random.normal(_rng, (config["NUM_ENVS"], 1))
            rng, _rng = jax.random.split(rng)
            rng_step = jax.random.split(_rng, config["NUM_ENVS"])
            obs, reward = jax.vmap(env_step)(rng_step, obs, action)
            return (obs, rng), reward

        rng, _rng = jax.random.split(rng)
        runner_state, rewards = jax.lax.scan(_env_step, (obs, _rng), None, config["NUM_STEPS"])
        return {"runner_state": runner_state, "rewards": rewards}

    return train


def main():
    train = jax.jit(make_train({"NUM_ENVS": NUM_ENVS, "NUM_STEPS": NUM_STEPS}))
    print(train(jax.random.PRNGKey(30))["rewards"].shape)


if __name__ == "__main__":
    main()
