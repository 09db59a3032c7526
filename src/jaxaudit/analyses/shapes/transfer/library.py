"""Library functions and layers that need no op of their own but have a shape: losses, dense layers, norms, dropout."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.shapes.broadcast import broadcast
from jaxaudit.analyses.shapes.dtypes import promote
from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, array, as_number
from jaxaudit.analyses.shapes.literals import array_like
from jaxaudit.analyses.shapes.mapped import without_axis
from jaxaudit.analyses.shapes.transfer.keys import draw
from jaxaudit.analyses.shapes.transfer.look import Look, Single, Transfer, single

_WIDTHS: Mapping[str, str] = {
    "flax.linen.Dense": "features",
    "flax.linen.Embed": "features",
    "flax.linen.Conv": "features",
    "flax.nnx.Linear": "out_features",
    "flax.nnx.Embed": "features",
    "haiku.Linear": "output_size",
    "haiku.Embed": "embed_dim",
    "equinox.nn.Linear": "out_features",
}
"""Layers and the parameter that says how wide their output is."""

_SAME_SHAPE = frozenset(
    f"{module}.{layer}.__call__"
    for module in ("flax.linen", "flax.nnx", "haiku", "equinox.nn")
    for layer in ("LayerNorm", "RMSNorm", "BatchNorm", "GroupNorm", "Dropout")
)
_EMBEDDINGS = ("flax.linen.Embed", "flax.nnx.Embed", "haiku.Embed")


def _made(look: Look) -> ShapeFact:
    name = look.op.text("function")
    if name in _WIDTHS:
        width = as_number(look.fact(_WIDTHS[name]))
        return ShapeFact(layer=(name, None if width is None else (width,)))
    return NOTHING


def _layer(look: Look) -> ShapeFact:
    """Give what a layer makes of its input: all axes stay but the last."""
    layer, given = look.fact("self").layer, array_like(look.fact("inputs", "x", "ids"))
    if layer is None or layer[1] is None or given.dims is None:
        return NOTHING
    kept = given.dims if layer[0] in _EMBEDDINGS else given.dims[:-1]
    return array((*kept, *layer[1]), "float32" if given.dtype == "float32" else None) if given.dims else NOTHING


def _normalised(look: Look) -> ShapeFact:
    given = look.fact("x", "inputs")
    return array(given.dims, given.dtype if given.dtype == "float32" else None)


def _pairwise(look: Look) -> ShapeFact:
    """Losses that compare elements."""
    given = [array_like(look.of(value)) for value in list(look.op.arguments.values())[:2]]
    dims, _ = broadcast([fact.dims for fact in given])
    return array(dims, promote(given)[0])


def _per_example(look: Look) -> ShapeFact:
    """Losses that use up the axis of classes."""
    axis = look.raw("axis")
    scores = look.fact("logits", "predictions", "log_predictions")
    if axis not in (None, -1):
        return NOTHING
    labels = look.fact("labels")
    if look.function.endswith("integer_labels") and labels.dims is not None:
        return array(labels.dims, scores.dtype)
    made = without_axis(scores, -1)
    return array(made.dims, scores.dtype)


_LOSSES: Mapping[str, Single] = {
    **{
        f"optax.{name}": _pairwise
        for name in "l2_loss squared_error huber_loss log_cosh sigmoid_binary_cross_entropy".split()
    },
    **{
        f"optax.{name}": _per_example
        for name in "softmax_cross_entropy softmax_cross_entropy_with_integer_labels kl_divergence".split()
    },
}


def _call(look: Look) -> ShapeFact:
    name = look.op.text("function")
    known = _LOSSES.get(name) or _LOSSES.get(name.replace("optax.losses.", "optax."))
    if known is not None:
        return known(look)
    if name in _SAME_SHAPE:
        return _normalised(look)
    return _layer(look) if name.endswith(".__call__") else _made(look)


def _draw(look: Look) -> ShapeFact:
    """Give what is drawn from a key: numbers, a new layer, or a layer's input with noise."""
    name = look.op.text("function")
    if name in _WIDTHS:
        return _made(look)
    return _normalised(look) if name in _SAME_SHAPE else draw(look)


TABLE: Mapping[str, Transfer] = {"py.call_library": single(_call), "key.draw": single(_draw)}
