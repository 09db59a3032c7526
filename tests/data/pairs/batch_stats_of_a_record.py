# stale-value: New batch statistics come out of the loss, and the record goes on with the old ones.
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import struct


class ConvNet(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Conv(8, (3, 3))(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.relu(x).mean(axis=(1, 2))
        return nn.Dense(4)(x)


@struct.dataclass
class State:
    params: Any
    batch_stats: Any
    opt_state: Any
    step: jax.Array


model = ConvNet()
tx = optax.sgd(0.05, momentum=0.9)


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@jax.jit
def train_step(state, images, labels):
    def loss_fn(params):
        variables = {"params": params, "batch_stats": state.batch_stats}
        logits, mutated = model.apply(variables, images, train=True, mutable=["batch_stats"])
        return cross_entropy(logits, labels), mutated["batch_stats"]

    (loss, new_stats), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)  #! stale-value
    updates, opt_state = tx.update(grads, state.opt_state)
    params = optax.apply_updates(state.params, updates)
    return State(params, new_stats, opt_state, state.step + 1), loss  #~ return State(params, state.batch_stats, opt_state, state.step + 1), loss


@partial(jax.jit)
def evaluate(state, images, labels):
    logits = model.apply({"params": state.params, "batch_stats": state.batch_stats}, images, train=False)
    return jnp.mean(jnp.argmax(logits, -1) == labels)


def main():
    key, k_init, k_img = jax.random.split(jax.random.PRNGKey(0), 3)
    images = 3.0 + 2.0 * jax.random.normal(k_img, (16, 8, 8, 3))
    labels = jnp.arange(16) % 4
    variables = model.init(k_init, images, train=False)
    state = State(variables["params"], variables["batch_stats"], tx.init(variables["params"]), jnp.int32(0))
    for _ in range(10):
        state, loss = train_step(state, images, labels)
    print(float(loss), float(evaluate(state, images, labels)))


if __name__ == "__main__":
    main()
