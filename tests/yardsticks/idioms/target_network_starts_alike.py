# The target network starts from the same key as the network it follows, as it should.
import flax.linen as nn
import jax
import jax.numpy as jnp


class Critic(nn.Module):
    @nn.compact
    def __call__(self, obs, action):
        return nn.Dense(1)(nn.relu(nn.Dense(8)(jnp.concatenate([obs, action], axis=-1))))


def main():
    critic = Critic()
    key, critic_key = jax.random.split(jax.random.key(0))
    params = critic.init(critic_key, jnp.ones(3), jnp.zeros(2))
    target_params = critic.init(critic_key, jnp.ones(3), jnp.ones(2))  # ? key-reused
    print(jax.tree.map(lambda a, b: (a == b).all(), params, target_params), key)


if __name__ == "__main__":
    main()
