# Network and target network are initialised alike inside one call, as the algorithm asks for.
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState as BaseState


class Critic(nn.Module):
    @nn.compact
    def __call__(self, obs, action):
        return nn.Dense(1)(jnp.concatenate([obs, action], axis=-1))


class TrainState(BaseState):
    target_params: Any


def sample_action(seed):
    return jnp.full((2,), float(seed))


def main():
    critic = Critic()
    key, critic_key = jax.random.split(jax.random.PRNGKey(0))
    obs = jnp.ones(3)
    state = TrainState.create(
        apply_fn=critic.apply,
        params=critic.init(critic_key, obs, sample_action(1)),
        target_params=critic.init(critic_key, obs, sample_action(2)),  # ? key-reused
        tx=optax.adam(1e-3),
    )
    print(state.step, key)


if __name__ == "__main__":
    main()
