# batch-time-mix: Actions are flattened in another order than observations.
import jax
import jax.numpy as jnp
from typing import NamedTuple


class Traj(NamedTuple):
    obs: jax.Array
    action: jax.Array
    adv: jax.Array


def collect(key, num_steps, num_envs):
    def step(obs, key):
        k1, k2 = jax.random.split(key)
        action = jax.random.randint(k1, (num_envs,), 0, 2)
        new = 0.9 * obs + 0.1 * jax.random.normal(k2, obs.shape)
        return new, Traj(obs, action, new.sum(-1))

    return jax.lax.scan(step, jnp.zeros((num_envs, 4)), jax.random.split(key, num_steps))[1]


def flatten(traj):
    steps, envs = traj.adv.shape
    obs = traj.obs.reshape(steps * envs, -1)
    action = traj.action.reshape(-1)  #~ action = jnp.swapaxes(traj.action, 0, 1).reshape(-1)  #! batch-time-mix
    adv = traj.adv.reshape(-1)
    return Traj(obs, action, adv)


def pg_loss(w, batch):
    logp = jax.nn.log_softmax(batch.obs @ w)
    picked = jnp.take_along_axis(logp, batch.action[:, None], axis=1)[:, 0]
    return -jnp.mean(picked * batch.adv)


@jax.jit
def update(w, key):
    batch = flatten(collect(key, 10, 6))
    return w - 0.1 * jax.grad(pg_loss)(w, batch)


def main():
    w = jnp.zeros((4, 2))
    for i in range(3):
        w = update(w, jax.random.PRNGKey(i))
    print(w)


if __name__ == "__main__":
    main()
