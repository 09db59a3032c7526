"""A block of a transformer whose feed-forward layer is split over the axis `model`, and its batch over `data`."""

import functools

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

EMBED, HIDDEN = 64, 256


def init(key):
    up, down = jax.random.split(key)
    return {
        "up": jax.random.normal(up, (EMBED, HIDDEN)) / EMBED**0.5,
        "down": jax.random.normal(down, (HIDDEN, EMBED)) / HIDDEN**0.5,
        "bias": jnp.zeros(EMBED),
    }


PARAMS = {"up": P(None, "model"), "down": P("model", None), "bias": P()}


def feed_forward(params, x):
    """Each device has some of the hidden units, so what they give is summed; the bias is added once."""
    hidden = jax.nn.gelu(x @ params["up"])
    return jax.lax.psum(hidden @ params["down"], "model") + params["bias"]


def make_step(mesh: Mesh):
    forward = jax.shard_map(feed_forward, mesh=mesh, in_specs=(PARAMS, P("data")), out_specs=P("data"))

    def loss(params, x, y):
        return jnp.mean((forward(params, x) - y) ** 2)

    @jax.jit
    def step(params, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    return step


@functools.partial(jax.jit, static_argnames="number")
def examples(key, number):
    x = jax.random.normal(key, (number, EMBED))
    return x, jnp.tanh(x)


def main():
    count = jax.device_count()
    model = 2 if count % 2 == 0 else 1
    kinds = (jax.sharding.AxisType.Auto,) * 2
    mesh = jax.make_mesh((count // model, model), ("data", "model"), axis_types=kinds)
    start, data = jax.random.split(jax.random.key(1))
    params, step = init(start), make_step(mesh)
    for key in jax.random.split(data, 10):
        x, y = examples(key, 8 * count)
        params, value = step(params, x, y)
    print("loss", float(value))


if __name__ == "__main__":
    main()
