"""A small decoder in plain JAX: parameters are dicts of arrays, layers are functions."""

import jax
import jax.numpy as jnp

VOCAB = 17
WIDTH = 48
HEADS = 4
LAYERS = 2
HIDDEN = 96
CONTEXT = 32


def init_layer(key):
    """Make the parameters of one layer."""
    query_key, out_key, up_key, down_key = jax.random.split(key, 4)
    return {
        "qkv": 0.02 * jax.random.normal(query_key, (WIDTH, 3, HEADS, WIDTH // HEADS)),
        "out": 0.02 * jax.random.normal(out_key, (HEADS, WIDTH // HEADS, WIDTH)),
        "up": 0.02 * jax.random.normal(up_key, (WIDTH, HIDDEN)),
        "down": 0.02 * jax.random.normal(down_key, (HIDDEN, WIDTH)),
        "scale": jnp.ones((2, WIDTH)),
    }


def init_model(key):
    """Make the parameters of all layers, one axis in front of each."""
    embed_key, position_key, layer_key = jax.random.split(key, 3)
    return {
        "embedding": 0.02 * jax.random.normal(embed_key, (VOCAB, WIDTH)),
        "positions": 0.02 * jax.random.normal(position_key, (CONTEXT, WIDTH)),
        "layers": jax.vmap(init_layer)(jax.random.split(layer_key, LAYERS)),
    }


def normalise(x, scale):
    """Give each token mean zero and variance one."""
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return scale * (x - mean) / jnp.sqrt(variance + 1e-6)


def attention(layer, x):
    """Let every token look at those before it."""
    time = x.shape[0]
    query, key, value = jnp.einsum("tw,wchd->cthd", x, layer["qkv"])
    scores = jnp.einsum("qhd,khd->hqk", query, key) / jnp.sqrt(WIDTH // HEADS)
    mask = jnp.tril(jnp.ones((time, time), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    mixed = jnp.einsum("hqk,khd->qhd", weights, value)
    return jnp.einsum("thd,hdw->tw", mixed, layer["out"])


def dropout(key, x, rate):
    """Leave out some of the elements, and make up for it."""
    keep = jax.random.bernoulli(key, 1.0 - rate, x.shape)
    return jnp.where(keep, x / (1.0 - rate), 0.0)


def block(layer, x, key):
    """Attention and a feed-forward network, each with a way around it."""
    attention_key, hidden_key = jax.random.split(key)
    attended = attention(layer, normalise(x, layer["scale"][0]))
    x = x + dropout(attention_key, attended, 0.1)
    hidden = jax.nn.gelu(normalise(x, layer["scale"][1]) @ layer["up"])
    return x + dropout(hidden_key, hidden @ layer["down"], 0.1)


def apply_model(params, tokens, key):
    """Give the logits of each next token of one sequence."""
    x = params["embedding"][tokens] + params["positions"][: tokens.shape[0]]

    def layer_step(x, inputs):
        layer, layer_key = inputs
        return block(layer, x, layer_key), None

    x, _ = jax.lax.scan(layer_step, x, (params["layers"], jax.random.split(key, LAYERS)))
    return x @ params["embedding"].T
