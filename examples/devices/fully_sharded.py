"""A small language model whose parameters are sharded over the devices that also share the batch; the compiler gathers them."""

import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

VOCAB, EMBED, HEADS, LENGTH, LAYERS = 256, 64, 4, 32, 2

optimizer = optax.adamw(3e-4)


def init_layer(key):
    attention, out, up, down = jax.random.split(key, 4)
    scale = EMBED**-0.5
    return {
        "qkv": jax.random.normal(attention, (EMBED, 3 * EMBED)) * scale,
        "out": jax.random.normal(out, (EMBED, EMBED)) * scale,
        "up": jax.random.normal(up, (EMBED, 4 * EMBED)) * scale,
        "down": jax.random.normal(down, (4 * EMBED, EMBED)) * scale / 2,
    }


def init(key):
    embedding, layers = jax.random.split(key)
    return {
        "embedding": jax.random.normal(embedding, (VOCAB, EMBED)) * 0.02,
        "layers": jax.vmap(init_layer)(jax.random.split(layers, LAYERS)),
    }


def specs(params):
    """Split each matrix along its first axis; that of the layers stays whole."""
    return {
        "embedding": P("data", None),
        "layers": jax.tree.map(lambda _: P(None, "data", None), params["layers"]),
    }


def normalised(x):
    return x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6)


def attention(layer, x):
    batch, length, _ = x.shape
    q, k, v = jnp.split(normalised(x) @ layer["qkv"], 3, axis=-1)
    q, k, v = (one.reshape(batch, length, HEADS, EMBED // HEADS) for one in (q, k, v))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (EMBED // HEADS) ** -0.5
    causal = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e30), axis=-1)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, EMBED)
    return x + mixed @ layer["out"]


def feed_forward(layer, x):
    return x + jax.nn.gelu(normalised(x) @ layer["up"]) @ layer["down"]


def loss(params, tokens):
    x = params["embedding"][tokens[:, :-1]]

    def run(x, layer):
        return feed_forward(layer, attention(layer, x)), None

    x, _ = jax.lax.scan(run, x, params["layers"])
    logits = normalised(x) @ params["embedding"].T
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()


def make_step(mesh: Mesh):
    def step(params, opt_state, tokens):
        tokens = jax.lax.with_sharding_constraint(tokens, NamedSharding(mesh, P("data", None)))
        value, grads = jax.value_and_grad(loss)(params, tokens)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, value

    return jax.jit(step, donate_argnums=(0, 1))


def main():
    mesh = jax.make_mesh((jax.device_count(),), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    start, data = jax.random.split(jax.random.key(3))
    params = init(start)
    places = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs(params), is_leaf=lambda x: isinstance(x, P))
    params = jax.device_put(params, places)
    opt_state, step = optimizer.init(params), make_step(mesh)
    for key in jax.random.split(data, 3):
        tokens = jax.random.randint(key, (2 * jax.device_count(), LENGTH + 1), 0, VOCAB)
        params, opt_state, value = step(params, opt_state, tokens)
    print("loss", float(value))


if __name__ == "__main__":
    main()
