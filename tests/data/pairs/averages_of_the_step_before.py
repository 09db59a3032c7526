# module-state-mishandled: The state keeps the averages it had.
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state


class TrainState(train_state.TrainState):
    batch_stats: Any


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Dense(16)(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        return nn.Dense(1)(nn.relu(x))[..., 0]


def train_step(state, x, y):
    def loss_fn(params):
        variables = {"params": params, "batch_stats": state.batch_stats}
        pred, mutated = state.apply_fn(variables, x, train=True, mutable=["batch_stats"])
        return jnp.mean((pred - y) ** 2), mutated

    (loss, mutated), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    state = state.apply_gradients(grads=grads, batch_stats=mutated["batch_stats"])  #~ state = state.apply_gradients(grads=grads, batch_stats=state.batch_stats)  #! module-state-mishandled
    return state, loss


def main():
    net = Net()
    x = jnp.ones((4, 3))
    variables = net.init(jax.random.key(0), x, train=False)
    state = TrainState.create(
        apply_fn=net.apply, params=variables["params"], batch_stats=variables["batch_stats"], tx=optax.adam(1e-3)
    )
    state, loss = jax.jit(train_step)(state, x, jnp.zeros(4))
    print(loss)


main()
