# scanned-axis-not-time: A rollout makes one key for each environment, not for each step.
import dataclasses

import jax
import jax.numpy as jnp


@dataclasses.dataclass(frozen=True)
class Config:
    num_envs: int = 16
    num_steps: int = 32
    num_minibatches: int = 4
    lr: float = 1e-3


def loss(w, batch):
    return jnp.mean((batch["obs"] @ w - batch["target"]) ** 2)


def make_update(cfg):
    def collect(obs, key):
        def env_step(obs, key):
            nxt = 0.95 * obs + 0.1 * jax.random.normal(key, obs.shape)
            return nxt, {"obs": obs, "target": nxt[:, 0]}

        return jax.lax.scan(env_step, obs, jax.random.split(key, cfg.num_steps))  #~ return jax.lax.scan(env_step, obs, jax.random.split(key, cfg.num_envs))  #! scanned-axis-not-time

    def update(w, obs, key):
        k_roll, k_perm = jax.random.split(key)
        obs, traj = collect(obs, k_roll)
        total = cfg.num_envs * cfg.num_steps
        flat = jax.tree.map(lambda x: x.reshape((total,) + x.shape[2:]), traj)  #! axis-conflict
        perm = jax.random.permutation(k_perm, total)
        batches = jax.tree.map(lambda x: x[perm].reshape((cfg.num_minibatches, -1) + x.shape[1:]), flat)

        def sgd(w, batch):
            return w - cfg.lr * jax.grad(loss)(w, batch), loss(w, batch)

        w, losses = jax.lax.scan(sgd, w, batches)
        return w, obs, losses.mean()

    return jax.jit(update)


def main():
    cfg = Config()
    update = make_update(cfg)
    key = jax.random.PRNGKey(0)
    w, obs = jnp.zeros(5), jax.random.normal(key, (cfg.num_envs, 5))
    for i in range(3):
        w, obs, l = update(w, obs, jax.random.fold_in(key, i))
    print(l)


if __name__ == "__main__":
    main()
