# bootstrap-never-moves: GAE uses the current value as its bootstrap
import jax
import jax.numpy as jnp
from typing import NamedTuple


class Transition(NamedTuple):
    done: jnp.ndarray
    value: jnp.ndarray
    reward: jnp.ndarray


def calculate_gae(traj, last_val, gamma=0.99, lam=0.95):
    def get_advantages(carry, t):
        gae, next_value = carry
        delta = t.reward + gamma * next_value * (1 - t.done) - t.value
        gae = delta + gamma * lam * (1 - t.done) * gae
        return (gae, t.value), gae  #~ return (gae, next_value), gae  #! bootstrap-never-moves

    _, adv = jax.lax.scan(get_advantages, (jnp.zeros_like(last_val), last_val), traj, reverse=True)
    return adv, adv + traj.value


def main():
    k = jax.random.split(jax.random.key(0), 3)
    T, N = 16, 4
    traj = Transition(jnp.zeros((T, N)), jax.random.normal(k[0], (T, N)), jax.random.normal(k[1], (T, N)))
    adv, targets = jax.jit(calculate_gae)(traj, jax.random.normal(k[2], (N,)))
    print(adv.mean(), targets.shape)


if __name__ == "__main__":
    main()
