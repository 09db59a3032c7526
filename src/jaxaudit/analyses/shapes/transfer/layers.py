"""Layers of the neural network libraries: what each makes of its input, from the sizes it was made with.

A layer that is made keeps its arguments in its fact; the call reads them back. Where the layer was made out of sight,
the rank is still known, and the width of the output is a size of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxaudit.analyses.dims import UNKNOWN, Dim, constant, product
from jaxaudit.analyses.regroup import regrouped
from jaxaudit.analyses.shapes.broadcast import equal, shape_text
from jaxaudit.analyses.shapes.dtypes import named_dtype
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, Layer, ShapeFact, array, as_number, sequence, shown
from jaxaudit.analyses.shapes.literals import array_like, shape_of
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.transfer.convolve import covered
from jaxaudit.analyses.shapes.transfer.look import Look
from jaxaudit.analyses.shapes.transfer.windows import adaptive_layer, padded, pool_layer, transposed
from jaxaudit.ir import Symbol

_UNSEEN = Layer("")


def made(look: Look, name: str) -> ShapeFact:
    """Return the fact of a new layer: its class, and what it was made with."""
    if name.startswith("jax.nn.initializers."):
        return ShapeFact(layer=Layer(INITIALIZER))
    if name not in CLASSES:
        return NOTHING
    facts = {key: look.of(value) for key, value in look.op.arguments.items() if not isinstance(value, str)}
    texts = {key: value for key, value in look.op.arguments.items() if isinstance(value, str)}
    return ShapeFact(layer=Layer(name, tuple(sorted(facts.items())), tuple(sorted(texts.items()))))


def called(look: Look, name: str) -> ShapeFact | None:
    """Return what the call of a layer gives; None where this is no layer that is known."""
    kind = name.rpartition(".")[0]
    if kind not in CLASSES or look.has("*", "**"):
        return None
    given = array_like(look.fact("inputs", "x", "ids", "input", "inputs_q", "query"))
    layer = look.fact("self").layer
    if layer is not None and layer.name == kind:
        _judge_input(look, layer, given)
    return CLASSES[kind](look, _UNSEEN if layer is None or layer.name != kind else layer, given)


_INPUTS = {
    "equinox.nn.Linear": "in_features",
    "equinox.nn.MLP": "in_size",
    "flax.nnx.Linear": "in_features",
}
"""Layers that are told how wide their input is, and the argument that tells."""


def _judge_input(look: Look, layer: Layer, given: ShapeFact) -> None:
    """Whether an input is as wide as the layer was told.

    A layer of equinox is for one example: it multiplies its weights by the input as it is, so a batch gives them the
    axis before the last.
    """
    told = layer.get(_INPUTS.get(layer.name, ""))
    width = None if told is None else as_number(told)
    if width is None or not given.dims:
        return
    met = given.dims[-2] if layer.name.startswith("equinox.") and len(given.dims) > 1 else given.dims[-1]
    fit = equal(met, width)
    look.judge(
        fit, f"{shape_text(given.dims)} given to a layer for {shown(width)} inputs" if fit is Fit.CLASHES else ""
    )


def attended(look: Look) -> ShapeFact:
    """Return what `Embed.attend` gives: a number for each entry of the table, in place of the last axis."""
    layer, given = look.fact("self").layer, look.fact("query")
    return NOTHING if layer is None else _wide("num_embeddings")(look, layer, given)


Call = Callable[[Look, Layer, ShapeFact], ShapeFact]


def _dtype(layer: Layer, given: ShapeFact) -> str | None:
    """Return the dtype of what a layer makes: its weights are of 32 bits unless it says otherwise.

    Those of haiku have the dtype of the input.
    """
    if layer.text("dtype") or layer.text("param_dtype") or layer.get("dtype") or layer.get("param_dtype"):
        return None if layer.text("param_dtype") else named_dtype(Symbol(layer.text("dtype")))
    if layer.name.startswith("haiku."):
        return given.dtype
    complex_in = given.dtype is not None and given.dtype.startswith("complex")
    return "float32" if given.dtype == "float32" or (layer.name and not complex_in) else None


def _width(layer: Layer, name: str) -> Dim:
    number = None if layer.get(name) is None else as_number(layer.get(name) or NOTHING)
    return UNKNOWN if number is None else number


def _wide(name: str) -> Call:
    """All axes stay but the last."""

    def call(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
        if not given.dims:
            return NOTHING
        return array((*given.dims[:-1], _width(layer, name)), _dtype(layer, given))

    return call


def _embedding(name: str) -> Call:
    """Each index becomes a vector."""

    def call(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
        return array(None if given.dims is None else (*given.dims, _width(layer, name)), "float32")

    return call


def _same(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
    kept = layer.name.endswith(".Dropout") or not layer.name.startswith("flax.")
    return array(given.dims, given.dtype if kept else _dtype(layer, given))


def _general(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
    """Return `DenseGeneral` and `LinearGeneral`: the last axes become the features."""
    features, axis = layer.get("features") or layer.get("out_features"), layer.get("axis")
    new = None if features is None else shape_of(features)
    axes = (constant(-1),) if axis is None else shape_of(axis)
    if given.dims is None or new is None or axes is None or layer.get("batch_dims") is not None:
        return NOTHING
    places = {place_of(one.constant, given.rank) for one in axes if one.constant is not None}
    if len(places) != len(axes) or None in places:
        return NOTHING
    return array((*(dim for at, dim in enumerate(given.dims) if at not in places), *new), _dtype(layer, given))


def _attention(width: str) -> Call:
    """The queries keep their axes; the last is as wide as asked for, else as it was."""

    def call(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
        if not given.dims:
            return NOTHING
        asked = layer.get(width)
        last = given.dims[-1] if layer.name and asked is None else _width(layer, width)
        return array((*given.dims[:-1], last), _dtype(layer, given))

    return call


def _haiku_attention(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
    if not given.dims:
        return NOTHING
    heads, value = _width(layer, "num_heads"), layer.get("value_size") or layer.get("key_size")
    each = None if value is None else as_number(value)
    wide = _width(layer, "model_size") if layer.get("model_size") else UNKNOWN if each is None else heads * each
    return array((*given.dims[:-1], wide), _dtype(layer, given))


def _convolution(features: str, kernel: str, stride: str, *, first: bool = False, padding: str = "SAME") -> Call:
    """A window goes over the axes between the batch and the channels."""

    def call(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
        channels = 0 if first else -1
        if given.dims is None or len(given.dims) < 2:
            return NOTHING
        window = _sizes(layer.get(kernel), layer, first)
        if window is None or len(window) >= len(given.dims) or layer.get("kernel_dilation"):
            return _unsized(given.dims, channels, _width(layer, features))
        places = range(1, len(window) + 1) if first else range(len(given.dims) - 1 - len(window), len(given.dims) - 1)
        dims = list(given.dims)
        for at, size in zip(places, window, strict=True):
            step, place = _step(layer, stride, at - places[0]), at - places[0]
            edge = layer.get("padding")
            wide = None if edge is None else padded(dims[at], edge, place, len(window))
            if edge is not None:
                dims[at] = UNKNOWN if wide is None else covered(wide, size, step, "VALID")
            else:
                dims[at] = covered(dims[at], size, step, layer.text("padding") or padding)
        dims[channels] = _width(layer, features)
        return array(tuple(dims), _dtype(layer, given))

    return call


def _unsized(dims: Dims, channels: int, width: Dim) -> ShapeFact:
    unknown = [UNKNOWN] * len(dims)
    if channels == -1:
        unknown[0] = dims[0]
    unknown[channels] = width
    return array(tuple(unknown), None)


def _sizes(fact: ShapeFact | None, layer: Layer, first: bool) -> Dims | None:
    if fact is None or layer.get("dilation") or layer.get("rate"):
        return None
    if fact.number is None:
        return shape_of(fact)
    spatial = layer.name[-2:-1] if layer.name[-1:] in "dD" else ""
    return (fact.number,) * int(spatial) if spatial.isdigit() else None if first else (fact.number,)


def _step(layer: Layer, name: str, at: int) -> int:
    fact = layer.get(name)
    if fact is None:
        return 1
    sizes = shape_of(fact)
    size = None if sizes is None else sizes[at] if at < len(sizes) else sizes[0]
    return 0 if size is None or size.constant is None else size.constant


def _cell(name: str, *, pair: bool = False, out_first: bool = False) -> Call:
    """A recurrent cell: the carry is as wide as the output; of an LSTM there are two."""

    def call(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
        carry = look.fact("carry", "state", "prev_state", "hidden")
        width = layer.get(name)
        dims = None if not given.dims else (*given.dims[:-1], UNKNOWN if width is None else _width(layer, name))
        if width is None and carry.dims is not None:
            dims = carry.dims
        out = array(dims, _dtype(layer, given))
        state = sequence((out, out)) if pair else out
        return sequence((out, state)) if out_first else sequence((state, out))

    return call


def _equinox_cell(pair: bool) -> Call:
    def call(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
        out = array(None if not given.dims else (*given.dims[:-1], _width(layer, "hidden_size")), _dtype(layer, given))
        return sequence((out, out)) if pair else out

    return call


def _with_state(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
    """Return a layer of equinox that hands its state on beside its output."""
    return sequence((_same(look, layer, given), look.fact("state")))


def _haiku_cell(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
    """Return `hk.LSTM`: its state is a record of two."""
    out = array(None if not given.dims else (*given.dims[:-1], _width(layer, "hidden_size")), _dtype(layer, given))
    return sequence((out, sequence((out, out))))


def _unrolled(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
    """Return `nn.RNN(cell)`: as many steps as come in, each as wide as the cell."""
    cell = layer.get("cell")
    held = cell.layer if cell is not None else None
    alone = not any(look.has(name) for name in ("return_carry", "time_major"))
    if not alone or any(layer.get(name) for name in ("return_carry", "time_major")) or not given.dims:
        return NOTHING
    wide = _UNSEEN if held is None else held
    name = "hidden_features" if wide.get("hidden_features") else "features"
    return array((*given.dims[:-1], _width(wide, name)), _dtype(wide, given))


def initial_state(look: Look) -> ShapeFact:
    """Return what `core.initial_state(batch_size)` of haiku makes."""
    layer, size = look.fact("self").layer, look.fact("batch_size")
    number = as_number(size) if size.number is not None else None
    if layer is None or layer.name not in ("haiku.LSTM", "haiku.GRU", "haiku.VanillaRNN"):
        return NOTHING
    if number is None and look.raw("batch_size") is not None:
        return NOTHING
    one = array((*(() if number is None else (number,)), _width(layer, "hidden_size")), "float32")
    return sequence((one, one)) if layer.name == "haiku.LSTM" else one


def parameter(look: Look) -> ShapeFact:
    """Return `self.param(name, init, shape)` and `hk.get_parameter(name, shape)`: an array of that shape."""
    if look.function == "get_parameter":
        return array(shape_of(look.fact("shape")), None if look.has("dtype") else "float32")
    start, given = look.raw("init_fn"), look.raw("init_args")
    named = isinstance(start, str) and ".initializers." in start
    kind = look.of(start).layer if start is not None and not named else None
    if not isinstance(given, tuple) or not given or not (named or (kind is not None and kind.name == INITIALIZER)):
        return NOTHING
    return array(shape_of(look.of(given[0])), "float32" if len(given) == 1 else None)


def variable(look: Look) -> ShapeFact:
    """Return `self.variable(collection, name, jnp.zeros, shape)` by the array it starts as."""
    start, given = look.raw("init_fn"), look.raw("init_args")
    if (
        start not in ("jax.numpy.zeros", "jax.numpy.ones", "jax.numpy.empty")
        or not isinstance(given, tuple)
        or not given
    ):
        return NOTHING
    return array(shape_of(look.of(given[0])), "float32" if len(given) == 1 else named_dtype(given[1]))


VARIABLES = frozenset(f"flax.nnx.{name}" for name in "Variable Param BatchStat Cache Intermediate".split())
"""Classes of variables, each around one array."""
INITIALIZER = "initializer"
"""The class of what `nn.initializers.normal()` gives."""


def _flattened(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
    if given.dims is None or layer.get("preserve_dims") is not None or not layer.name or len(given.dims) < 2:
        return NOTHING
    return array(regrouped(given.dims, (given.dims[0], product(given.dims[1:]))), given.dtype)


def _mlp(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
    sizes = layer.get("output_sizes")
    wide = None if sizes is None or not sizes.items else as_number(sizes.items[-1])
    return array((*given.dims[:-1], UNKNOWN if wide is None else wide), _dtype(layer, given)) if given.dims else NOTHING


def carry_of(look: Look) -> ShapeFact:
    """Return what `cell.initialize_carry(key, input_shape)` makes: zeros as wide as the cell."""
    layer = look.fact("self").layer
    shape = shape_of(look.fact("input_shape"))
    if layer is None or not shape or "Conv" in layer.name or layer.get("features") is None:
        return NOTHING
    one = array((*shape[:-1], _width(layer, "features")), "float32")
    return sequence((one, one)) if "LSTM" in layer.name else one


_NORMS: Mapping[str, str] = {
    "flax.linen": "LayerNorm RMSNorm GroupNorm InstanceNorm BatchNorm Dropout PReLU",
    "flax.nnx": "LayerNorm RMSNorm GroupNorm InstanceNorm BatchNorm Dropout PReLU",
    "haiku": "LayerNorm RMSNorm GroupNorm InstanceNorm BatchNorm",
    "equinox.nn": "LayerNorm RMSNorm GroupNorm Dropout PReLU Identity",
}
"""Layers that keep the shape of their input."""

CLASSES: Mapping[str, Call] = {
    **{f"{module}.{layer}": _same for module, names in _NORMS.items() for layer in names.split()},
    "flax.linen.Dense": _wide("features"),
    "flax.linen.DenseGeneral": _general,
    "flax.linen.Embed": _embedding("features"),
    "flax.linen.Conv": _convolution("features", "kernel_size", "strides"),
    "flax.linen.ConvTranspose": transposed("features", "kernel_size", "strides"),
    "flax.linen.RNN": _unrolled,
    "flax.linen.MultiHeadDotProductAttention": _attention("out_features"),
    "flax.linen.MultiHeadAttention": _attention("out_features"),
    "flax.linen.SelfAttention": _attention("out_features"),
    "flax.linen.GRUCell": _cell("features"),
    "flax.linen.MGUCell": _cell("features"),
    "flax.linen.SimpleCell": _cell("features"),
    "flax.linen.LSTMCell": _cell("features", pair=True),
    "flax.linen.OptimizedLSTMCell": _cell("features", pair=True),
    "flax.nnx.Linear": _wide("out_features"),
    "flax.nnx.Embed": _embedding("features"),
    "flax.nnx.Conv": _convolution("out_features", "kernel_size", "strides"),
    "flax.nnx.ConvTranspose": transposed("out_features", "kernel_size", "strides"),
    "flax.nnx.LinearGeneral": _general,
    "flax.nnx.RNN": _unrolled,
    "flax.nnx.MultiHeadAttention": _attention("out_features"),
    "flax.nnx.GRUCell": _cell("hidden_features"),
    "flax.nnx.SimpleCell": _cell("hidden_features"),
    "flax.nnx.LSTMCell": _cell("hidden_features", pair=True),
    "flax.nnx.OptimizedLSTMCell": _cell("hidden_features", pair=True),
    "haiku.Linear": _wide("output_size"),
    "haiku.Embed": _embedding("embed_dim"),
    "haiku.Conv1D": _convolution("output_channels", "kernel_shape", "stride"),
    "haiku.Conv2D": _convolution("output_channels", "kernel_shape", "stride"),
    "haiku.Conv3D": _convolution("output_channels", "kernel_shape", "stride"),
    **{f"haiku.Conv{rank}DTranspose": transposed("output_channels", "kernel_shape", "stride") for rank in (1, 2, 3)},
    "haiku.LSTM": _haiku_cell,
    "haiku.MultiHeadAttention": _haiku_attention,
    "haiku.GRU": _cell("hidden_size", out_first=True),
    "haiku.VanillaRNN": _cell("hidden_size", out_first=True),
    "haiku.Flatten": _flattened,
    "haiku.nets.MLP": _mlp,
    "equinox.nn.Linear": _wide("out_features"),
    "equinox.nn.MLP": _wide("out_size"),
    "equinox.nn.Embedding": _embedding("embedding_size"),
    "equinox.nn.Conv1d": _convolution("out_channels", "kernel_size", "stride", first=True, padding="VALID"),
    "equinox.nn.Conv2d": _convolution("out_channels", "kernel_size", "stride", first=True, padding="VALID"),
    "equinox.nn.Conv3d": _convolution("out_channels", "kernel_size", "stride", first=True, padding="VALID"),
    **{f"equinox.nn.{kind}Pool{rank}d": pool_layer for kind in ("Avg", "Max") for rank in (1, 2, 3)},
    **{f"equinox.nn.Adaptive{kind}Pool{rank}d": adaptive_layer for kind in ("Avg", "Max") for rank in (1, 2, 3)},
    **{
        f"equinox.nn.ConvTranspose{rank}d": transposed("out_channels", "kernel_size", "stride", first=True)
        for rank in (1, 2, 3)
    },
    "equinox.nn.BatchNorm": _with_state,
    "equinox.nn.MultiheadAttention": _attention("output_size"),
    "equinox.nn.GRUCell": _equinox_cell(pair=False),
    "equinox.nn.LSTMCell": _equinox_cell(pair=True),
}
"""What the call of a layer gives, by its class."""
