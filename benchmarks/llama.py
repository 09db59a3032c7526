"""The program that `scale.py` measures: a training step of a 405-billion-parameter Llama, scanned or unrolled.

It is written as such programs are, and is only ever traced: no array of it exists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Tree = Any


@dataclass(frozen=True)
class Config:
    """The sizes of Llama 3.1 405B."""

    layers: int = 126
    width: int = 16384
    heads: int = 128
    kv_heads: int = 8
    hidden: int = 53248
    vocab: int = 128256
    batch: int = 16
    length: int = 8192

    @property
    def head_width(self) -> int:
        """The width of one head."""
        return self.width // self.heads


def layer_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Return the shapes of one layer's parameters."""
    return {
        "attention_norm": (config.width,),
        "query": (config.width, config.heads, config.head_width),
        "key": (config.width, config.kv_heads, config.head_width),
        "value": (config.width, config.kv_heads, config.head_width),
        "output": (config.heads, config.head_width, config.width),
        "mlp_norm": (config.width,),
        "gate": (config.width, config.hidden),
        "up": (config.width, config.hidden),
        "down": (config.hidden, config.width),
    }


def rms_norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Normalise the last axis."""
    wide = x.astype(jnp.float32)
    inverse = lax.rsqrt(jnp.mean(jnp.square(wide), axis=-1, keepdims=True) + 1e-5)
    return (wide * inverse).astype(x.dtype) * scale


def rotate(x: jax.Array, angles: jax.Array) -> jax.Array:
    """Turn pairs of features by the angles of their positions."""
    first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    cosine, sine = jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]
    turned = jnp.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
    return turned.astype(x.dtype)


def attention(config: Config, layer: Tree, x: jax.Array, angles: jax.Array, mask: jax.Array) -> jax.Array:
    """Let each position look at those before it; several query heads share one key head."""
    query = rotate(jnp.einsum("btd,dhk->bthk", x, layer["query"]), angles)
    key = rotate(jnp.einsum("btd,dhk->bthk", x, layer["key"]), angles)
    value = jnp.einsum("btd,dhk->bthk", x, layer["value"])
    groups = config.heads // config.kv_heads
    grouped = query.reshape(*query.shape[:2], config.kv_heads, groups, config.head_width)
    scores = jnp.einsum("bthgk,bshk->bhgts", grouped, key) / config.head_width**0.5
    weights = jax.nn.softmax(jnp.where(mask, scores.astype(jnp.float32), -1e9), axis=-1).astype(x.dtype)
    mixed = jnp.einsum("bhgts,bshk->bthgk", weights, value)
    return jnp.einsum("bthk,hkd->btd", mixed.reshape(query.shape), layer["output"])


def mlp(layer: Tree, x: jax.Array) -> jax.Array:
    """Apply the gated network to each position."""
    return (jax.nn.silu(x @ layer["gate"]) * (x @ layer["up"])) @ layer["down"]


def block(config: Config, layer: Tree, x: jax.Array, angles: jax.Array, mask: jax.Array) -> jax.Array:
    """Apply one layer."""
    x = x + attention(config, layer, rms_norm(x, layer["attention_norm"]), angles, mask)
    return x + mlp(layer, rms_norm(x, layer["mlp_norm"]))


def forward(config: Config, params: Tree, tokens: jax.Array) -> jax.Array:
    """Return the logits of every position; the layers are scanned when their parameters are stacked."""
    positions = jnp.arange(tokens.shape[1], dtype=jnp.float32)
    half = config.head_width // 2
    angles = positions[:, None] * 500000.0 ** (-jnp.arange(half, dtype=jnp.float32) / half)
    mask = jnp.tril(jnp.ones((tokens.shape[1], tokens.shape[1]), dtype=bool))
    x = params["embedding"][tokens]
    if isinstance(params["layers"], dict):

        @jax.checkpoint
        def step(x: jax.Array, layer: Tree) -> tuple[jax.Array, None]:
            return block(config, layer, x, angles, mask), None

        x, _ = lax.scan(step, x, params["layers"])
    else:
        for layer in params["layers"]:
            x = block(config, layer, x, angles, mask)
    return rms_norm(x, params["norm"]) @ params["head"]


def loss(config: Config, params: Tree, tokens: jax.Array) -> jax.Array:
    """Return the mean negative log-likelihood of each next token."""
    logits = forward(config, params, tokens[:, :-1]).astype(jnp.float32)
    found = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.mean(jnp.take_along_axis(found, tokens[:, 1:, None], axis=-1))


def adamw(params: Tree, gradients: Tree, first: Tree, second: Tree, count: jax.Array) -> tuple[Tree, Tree, Tree]:
    """Update the parameters and both moments."""
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g.astype(jnp.float32), first, gradients)
    second = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * jnp.square(g.astype(jnp.float32)), second, gradients)
    first_scale, second_scale = 1 - 0.9**count, 1 - 0.95**count

    def updated(p: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
        step = (m / first_scale) / (jnp.sqrt(v / second_scale) + 1e-8)
        return (p - 3e-4 * (step + 0.1 * p.astype(jnp.float32))).astype(p.dtype)

    return jax.tree.map(updated, params, first, second), first, second


def train_step(config: Config) -> Callable[..., Any]:
    """Make the training step."""

    def step(params: Tree, first: Tree, second: Tree, count: jax.Array, tokens: jax.Array) -> tuple[Any, ...]:
        value, gradients = jax.value_and_grad(lambda p: loss(config, p, tokens))(params)
        count = count + 1
        params, first, second = adamw(params, gradients, first, second, count)
        return params, first, second, count, value

    return step


def arguments(config: Config, *, scanned: bool) -> tuple[Any, ...]:
    """Return the shapes and dtypes of what a step takes."""
    shapes = layer_shapes(config)
    one = {name: jax.ShapeDtypeStruct(shape, jnp.bfloat16) for name, shape in shapes.items()}
    stacked = {name: jax.ShapeDtypeStruct((config.layers, *shape), jnp.bfloat16) for name, shape in shapes.items()}
    params = {
        "embedding": jax.ShapeDtypeStruct((config.vocab, config.width), jnp.bfloat16),
        "layers": stacked if scanned else [dict(one) for _ in range(config.layers)],
        "norm": jax.ShapeDtypeStruct((config.width,), jnp.bfloat16),
        "head": jax.ShapeDtypeStruct((config.width, config.vocab), jnp.bfloat16),
    }
    moments = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, jnp.float32), params)
    count = jax.ShapeDtypeStruct((), jnp.int32)
    tokens = jax.ShapeDtypeStruct((config.batch, config.length + 1), jnp.int32)
    return params, moments, moments, count, tokens
