# updates-as-parameters: The state keeps the updates as its parameters.
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.relu(nn.Dense(16)(x)))[..., 0]


@jax.jit
def train_step(state, x, y):
    def loss_fn(params):
        return jnp.mean((state.apply_fn({"params": params}, x) - y) ** 2)

    grads = jax.grad(loss_fn)(state.params)
    updates, opt_state = state.tx.update(grads, state.opt_state, state.params)
    params = optax.apply_updates(state.params, updates)  #~ return state.replace(params=updates, opt_state=opt_state, step=state.step + 1)  #! updates-as-parameters
    return state.replace(params=params, opt_state=opt_state, step=state.step + 1)  #~


def main():
    x = jnp.ones((4, 3))
    net = Net()
    params = net.init(jax.random.key(0), x)["params"]
    state = TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1))
    for _ in range(3):
        state = train_step(state, x, jnp.zeros(4))
    print(state.step)


main()
