# device-axis-missing: A training state goes to every device without a copy for each.
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import jax_utils
from flax.training import train_state
from flax.training.common_utils import shard


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.relu(nn.Dense(32)(x)))[..., 0]


def create_state(key):
    net = Net()
    params = net.init(key, jnp.zeros((1, 4)))["params"]
    return train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1))


def step(state, x, y):
    def loss_fn(params):
        return jnp.mean((state.apply_fn({"params": params}, x) - y) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    grads = jax.lax.pmean(grads, "batch")
    return state.apply_gradients(grads=grads), jax.lax.pmean(loss, "batch")


p_step = jax.pmap(step, axis_name="batch")


def main():
    state = create_state(jax.random.PRNGKey(0))
    state = jax_utils.replicate(state)  #~
    for i in range(3):
        x = jax.random.normal(jax.random.PRNGKey(i), (64, 4))
        state, loss = p_step(state, shard(x), shard(x.sum(-1)))  #! device-axis-missing
    print(loss)


if __name__ == "__main__":
    main()
