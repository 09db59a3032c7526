# silent-broadcast: A critic with one output gives a column, and the targets are a row.
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState

BATCH = 32
OBS_DIM = 6


class Critic(nn.Module):
    width: int = 32

    @nn.compact
    def __call__(self, obs, act):
        h = jnp.concatenate([obs, act], axis=-1)
        h = nn.relu(nn.Dense(self.width)(h))
        h = nn.relu(nn.Dense(self.width)(h))
        return nn.Dense(1)(h).squeeze(-1)  #~ return nn.Dense(1)(h)


def td_target(batch, gamma=0.99):
    boot = jnp.cos(batch["next_obs"]).mean(axis=-1)
    return batch["reward"] + gamma * (1.0 - batch["done"]) * boot


@jax.jit
def update(state, batch):
    y = td_target(batch)

    def loss_fn(params):
        q = state.apply_fn(params, batch["obs"], batch["act"])
        return jnp.mean(jnp.square(q - y))  #! silent-broadcast

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


def sample_batch(key):
    k1, k2, k3, k4 = jax.random.split(key, 4)
    obs = jax.random.normal(k1, (BATCH, OBS_DIM))
    return {
        "obs": obs,
        "act": jax.random.uniform(k2, (BATCH, 2), minval=-1.0),
        "next_obs": obs + 0.1 * jax.random.normal(k3, (BATCH, OBS_DIM)),
        "reward": jnp.sin(obs[:, 0]),
        "done": jax.random.bernoulli(k4, 0.1, (BATCH,)).astype(jnp.float32),
    }


def main():
    key, init_key = jax.random.split(jax.random.PRNGKey(0))
    critic = Critic()
    params = critic.init(init_key, jnp.zeros((1, OBS_DIM)), jnp.zeros((1, 2)))
    state = TrainState.create(apply_fn=critic.apply, params=params, tx=optax.adam(1e-3))
    for i in range(20):
        state, loss = update(state, sample_batch(jax.random.fold_in(key, i)))
    print("td loss", float(loss))


if __name__ == "__main__":
    main()
