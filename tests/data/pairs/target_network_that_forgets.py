# forgetful-average: the helper's parameters are given in swapped order
import jax
import jax.numpy as jnp
import flax.linen as nn
import optax
from flax.training.train_state import TrainState
from typing import NamedTuple


class Batch(NamedTuple):
    obs: jnp.ndarray
    action: jnp.ndarray
    reward: jnp.ndarray
    next_obs: jnp.ndarray
    done: jnp.ndarray


class Actor(nn.Module):
    act_dim: int

    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(32)(x))
        return jnp.tanh(nn.Dense(self.act_dim)(x))


class Critic(nn.Module):
    @nn.compact
    def __call__(self, obs, action):
        x = jnp.concatenate([obs, action], axis=-1)
        x = nn.relu(nn.Dense(32)(x))
        return nn.Dense(1)(x).squeeze(-1)


def soft_update(online, target, tau):
    return jax.tree_util.tree_map(lambda o, t: tau * o + (1.0 - tau) * t, online, target)


def update_critic(critic, actor_target, critic_target, batch, gamma=0.99):
    next_action = actor_target.apply_fn(actor_target.params, batch.next_obs)
    next_q = critic.apply_fn(critic_target, batch.next_obs, next_action)
    y = batch.reward + gamma * (1.0 - batch.done) * next_q

    def loss_fn(params):
        q = critic.apply_fn(params, batch.obs, batch.action)
        return jnp.mean((q - jax.lax.stop_gradient(y)) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(critic.params)
    critic = critic.apply_gradients(grads=grads)
    critic_target = soft_update(critic.params, critic_target, 0.005)  #~ critic_target = soft_update(critic_target, critic.params, 0.005)  #! forgetful-average
    return critic, critic_target, loss


def main():
    k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
    actor, critic = Actor(2), Critic()
    obs, act = jnp.ones((8, 3)), jnp.ones((8, 2))
    a = TrainState.create(apply_fn=actor.apply, params=actor.init(k1, obs), tx=optax.adam(1e-3))
    c = TrainState.create(apply_fn=critic.apply, params=critic.init(k2, obs, act), tx=optax.adam(1e-3))
    batch = Batch(obs, act, jnp.ones(8), jax.random.normal(k3, (8, 3)), jnp.zeros(8))
    c, ct, loss = jax.jit(update_critic)(c, a, c.params, batch)
    print(loss)


if __name__ == "__main__":
    main()
