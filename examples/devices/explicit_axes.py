"""A feed-forward network with its sharding in the types: the batch over `data`, the hidden units over `model`."""

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

EMBED, HIDDEN, CLASSES = 32, 128, 8


def init(key):
    up, down = jax.random.split(key)
    return {
        "up": jax.random.normal(up, (EMBED, HIDDEN)) / EMBED**0.5,
        "down": jax.random.normal(down, (HIDDEN, CLASSES)) / HIDDEN**0.5,
    }


SPECS = {"up": P(None, "model"), "down": P("model", None)}


def logits(params, x):
    hidden = jax.nn.relu(x @ params["up"])
    # The hidden units are summed over `model`, so it has to be said where the result lives.
    return jnp.einsum("bh,hc->bc", hidden, params["down"], out_sharding=P("data", None))


def loss(params, x, labels):
    scores = jax.nn.log_softmax(logits(params, x), axis=-1)
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, CLASSES) * scores, axis=-1))


@jax.jit
def step(params, x, labels):
    value, grads = jax.value_and_grad(loss)(params, x, labels)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def placed(mesh: Mesh, tree, specs):
    return jax.device_put(tree, jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs))


def main():
    count = jax.device_count()
    model = 2 if count % 2 == 0 else 1
    mesh = jax.make_mesh((count // model, model), ("data", "model"), axis_types=(AxisType.Explicit,) * 2)
    start, data = jax.random.split(jax.random.key(4))
    with jax.set_mesh(mesh):
        params = placed(mesh, init(start), SPECS)
        for key in jax.random.split(data, 10):
            drawn, labelled = jax.random.split(key)
            x = placed(mesh, jax.random.normal(drawn, (8 * count, EMBED)), P("data", None))
            labels = placed(mesh, jax.random.randint(labelled, (8 * count,), 0, CLASSES), P("data"))
            params, value = step(params, x, labels)
    print("loss", float(value))


if __name__ == "__main__":
    main()
