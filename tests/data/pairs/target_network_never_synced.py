# result-discarded: The target network is synced by a function whose result is dropped.
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import struct


@struct.dataclass
class LearnerState:
    params: Any
    target: Any
    opt_state: Any
    steps: jax.Array


def apply(params, x):
    return jnp.tanh(x @ params["w1"]) @ params["w2"]


def make_learner(tx, tau):
    def sync_target(state):
        mixed = jax.tree.map(lambda t, p: (1 - tau) * t + tau * p, state.target, state.params)
        return state.replace(target=mixed, steps=state.steps + 1)

    @jax.jit
    def learn(state, batch):
        target = batch["r"] + 0.95 * apply(state.target, batch["s2"]).max(-1)

        def loss(params):
            q = jnp.take_along_axis(apply(params, batch["s"]), batch["a"][:, None], axis=1)[:, 0]
            return jnp.mean((q - target) ** 2)

        value, grads = jax.value_and_grad(loss)(state.params)
        updates, opt_state = tx.update(grads, state.opt_state)
        state = state.replace(params=optax.apply_updates(state.params, updates), opt_state=opt_state)
        state = sync_target(state)  #~ sync_target(state)  #! result-discarded
        return state, value

    return learn


def main():
    ks = jax.random.split(jax.random.PRNGKey(0), 4)
    params = {"w1": jax.random.normal(ks[0], (4, 16)), "w2": jax.random.normal(ks[1], (16, 2))}
    tx = optax.adam(1e-3)
    state = LearnerState(params, params, tx.init(params), jnp.int32(0))
    s = jax.random.normal(ks[2], (32, 4))
    batch = {"s": s, "s2": 0.9 * s, "r": s[:, 0], "a": jax.random.randint(ks[3], (32,), 0, 2)}
    learn = make_learner(tx, 0.05)
    for _ in range(5):
        state, value = learn(state, batch)
    print(int(state.steps), float(value))


if __name__ == "__main__":
    main()
