# device-axis-missing: A whole batch is given to four devices.
import jax
import jax.numpy as jnp
from jax import lax

NUM_DEVICES = 4
BATCH = 32


def loss_fn(params, x, y):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)


def shard(batch):
    return jax.tree.map(lambda a: a.reshape((NUM_DEVICES, -1) + a.shape[1:]), batch)


def train_step(params, x, y):
    grads = lax.pmean(jax.grad(loss_fn)(params, x, y), "d")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def main():
    devices = jax.devices()[:NUM_DEVICES]
    step = jax.pmap(train_step, axis_name="d", in_axes=(None, 0, 0), out_axes=None, devices=devices)
    params = {"w": jnp.zeros(4), "b": jnp.zeros(())}
    x = jax.random.normal(jax.random.PRNGKey(0), (BATCH, 4))
    y = x.sum(axis=1)
    for _ in range(5):
        #~ params = step(params, x, y)  #! device-axis-missing
        params = step(params, *shard((x, y)))  #~
    print(params)


if __name__ == "__main__":
    main()
