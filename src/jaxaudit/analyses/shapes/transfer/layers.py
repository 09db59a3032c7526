"""Layers of the neural network libraries: what each makes of its input, from the sizes it was made with.

A layer that is made keeps its arguments in its fact; the call reads them back. Where the layer was made out of sight,
the rank is still known, and the width of the output is a size of its own. The rows of `libraries` say which of these
functions is whose, and name the arguments that they read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxaudit.analyses.dims import UNKNOWN, Dim, constant, product
from jaxaudit.analyses.regroup import regrouped
from jaxaudit.analyses.shapes.broadcast import equal, shape_text
from jaxaudit.analyses.shapes.dtypes import named_dtype, promote
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, Layer, ShapeFact, array, as_number, outline_of, shown
from jaxaudit.analyses.shapes.literals import array_like, shape_of
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.analyses.shapes.outlines import changed
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.transfer.look import Look
from jaxaudit.ir import Symbol
from jaxaudit.libraries.lookup import lookup
from jaxaudit.libraries.packages import FOR_ONE_EXAMPLE, WEIGHTS, package

_UNSEEN = Layer("")

INITIALIZER = "initializer"
"""The class of what `nn.initializers.normal()` gives."""


def made(look: Look, name: str) -> ShapeFact:
    """Return the fact of a new layer: its class, and what it was made with."""
    if name.startswith("jax.nn.initializers."):
        dtype = look.op.arguments.get("dtype")
        return ShapeFact(layer=Layer(INITIALIZER, () if dtype is None else (("dtype", look.of(dtype)),)))
    row = lookup(name)
    if row is None or row.cls != name or lookup(f"{name}.__call__") is None:
        return NOTHING
    given = {key: value for key, value in look.op.arguments.items() if value is not None}
    facts = {key: look.of(value) for key, value in given.items() if not isinstance(value, str)}
    texts = {key: value for key, value in given.items() if isinstance(value, str)}
    return ShapeFact(layer=Layer(name, tuple(sorted(facts.items())), tuple(sorted(texts.items()))))


def layer_of(look: Look) -> Layer:
    """Return the layer whose method is called; one without arguments where it was made out of sight, or is many."""
    fact, kind = look.fact("self"), look.op.qualified.rpartition(".")[0]
    return fact.layer if fact.layer is not None and fact.layer.name == kind and not fact.stack else _UNSEEN


def given_to(look: Look) -> ShapeFact:
    """Return the input of a layer: the first argument of its call that is no carry."""
    row = lookup(look.op.qualified)
    params = [param for param in (() if row is None else row.params) if param != "carry"]
    given = array_like(look.fact(*params[:1]))
    _judge_width(look, layer_of(look), given)
    return given


def _judge_width(look: Look, layer: Layer, given: ShapeFact) -> None:
    """Whether an input is as wide as the layer was told.

    A layer for one example multiplies its weights by the input as it is, so a batch gives them the axis before the
    last.
    """
    row = lookup(layer.name)
    told = next((layer.get(name) for name, kind in row.kinds.items() if kind == "width"), None) if row else None
    width = None if told is None else as_number(told)
    if width is None or not given.dims:
        return
    one = package(layer.name) in FOR_ONE_EXAMPLE and len(given.dims) > 1
    fit = equal(given.dims[-2 if one else -1], width)
    look.judge(
        fit, f"{shape_text(given.dims)} given to a layer for {shown(width)} inputs" if fit is Fit.CLASHES else ""
    )


def dtype_of(look: Look, layer: Layer, given: ShapeFact) -> str | None:
    """Return the dtype of what a layer makes of its input: what it says, else that of input and weights together."""
    library = package(look.op.qualified)
    option = WEIGHTS.get(library)
    if option is None or not layer.name:
        return given.dtype if option is None or given.dtype == "float32" else None
    if option != "dtype" and "dtype" in layer.names:
        return named_dtype(Symbol(layer.text("dtype")))
    weights = named_dtype(Symbol(layer.text(option))) if option in layer.names else "float32"
    return None if weights is None else promote([given, array((), weights)])[0]


def width_of(layer: Layer, name: str) -> Dim:
    """Return a size that a layer was made with."""
    fact = layer.get(name)
    number = None if fact is None else as_number(fact.items[-1] if fact.items else fact)
    return UNKNOWN if number is None else number


def _last(look: Look, width: str) -> ShapeFact:
    """All axes stay but the last, of which equinox may leave nothing."""
    layer, given = layer_of(look), given_to(look)
    if layer.text(width) not in ("", "scalar"):
        return NOTHING
    return _with_last(look, layer, given, () if layer.text(width) else (width_of(layer, width),))


def _with_last(look: Look, layer: Layer, given: ShapeFact, last: Dims) -> ShapeFact:
    """Return an array with other sizes for the last axis of another one, of whatever rank."""
    made = changed(given, lambda dims: (*dims[:-1], *last) if dims else None)
    return NOTHING if made is NOTHING else array(made.dims, dtype_of(look, layer, given), outline=made.outline)


def _cell(look: Look, width: str) -> ShapeFact:
    """A recurrent cell: the carry is as wide as the output."""
    carry, layer = look.fact("carry", "state", "prev_state", "hidden"), layer_of(look)
    made = _last(look, width)
    # With a dtype of their own some cells still give what it makes together with that of the carry.
    dtype = None if "dtype" in layer.names else made.dtype
    return array(carry.dims if layer.get(width) is None and carry.dims is not None else made.dims, dtype)


def _embedded(look: Look, width: str) -> ShapeFact:
    """Each index becomes a vector."""
    layer, given = layer_of(look), given_to(look)
    only = WEIGHTS.get(package(look.op.qualified)) is None or not layer.names & {"dtype", "param_dtype"}
    made = changed(given, lambda dims: (*dims, width_of(layer, width)))
    return array(made.dims, "float32" if only else None, outline=made.outline)


def _same(look: Look) -> ShapeFact:
    layer, given = layer_of(look), given_to(look)
    return array(given.dims, dtype_of(look, layer, given), outline=outline_of(given))


def _general(look: Look, features: str, axis: str) -> ShapeFact:
    """The given axes, else the last, become the features."""
    layer, given = layer_of(look), given_to(look)
    wide, over = layer.get(features), layer.get(axis)
    new = None if wide is None else shape_of(wide)
    axes = (constant(-1),) if over is None else shape_of(over)
    if given.dims is None or new is None or axes is None:
        return NOTHING
    places = {place_of(one.constant, given.rank) for one in axes if one.constant is not None}
    if len(places) != len(axes) or None in places:
        return NOTHING
    kept = (dim for at, dim in enumerate(given.dims) if at not in places)
    return array((*kept, *new), dtype_of(look, layer, given))


def _attended(look: Look, width: str) -> ShapeFact:
    """The queries keep their axes; the last is as wide as asked for, else as it was."""
    layer, given = layer_of(look), given_to(look)
    if layer.name and layer.get(width) is None:
        return array(given.dims or None, dtype_of(look, layer, given), outline=outline_of(given))
    return _with_last(look, layer, given, (width_of(layer, width),))


def _heads(look: Look, heads: str, key: str, value: str, model: str) -> ShapeFact:
    """The queries keep their axes; the last is as wide as the model, else as all heads together."""
    layer, given = layer_of(look), given_to(look)
    each = width_of(layer, value if layer.get(value) else key)
    wide = width_of(layer, model) if layer.get(model) else width_of(layer, heads) * each
    return _with_last(look, layer, given, (wide,))


def _unrolled(look: Look, cell: str) -> ShapeFact:
    """As many steps as come in, each as wide as the cell."""
    layer, given = layer_of(look), given_to(look)
    held = layer.get(cell)
    inner = _UNSEEN if held is None or held.layer is None else held.layer
    name = "hidden_features" if inner.get("hidden_features") else "features"
    return _with_last(look, inner, given, (width_of(inner, name),))


def _carry(look: Look, shape: str, width: str) -> ShapeFact:
    """Zeros as wide as the cell, for inputs of that shape."""
    layer, dims = layer_of(look), shape_of(look.fact(shape))
    return array((*dims[:-1], width_of(layer, width)), "float32") if dims and layer.get(width) else NOTHING


def _started(look: Look, size: str, width: str) -> ShapeFact:
    """Zeros as wide as the cell, for a batch of that size or for one example."""
    layer, given = layer_of(look), look.fact(size)
    batch = () if look.raw(size) is None else None if given.number is None else (given.number,)
    return array((*batch, width_of(layer, width)), "float32") if layer.name and batch is not None else NOTHING


def _flattened(look: Look, kept: str) -> ShapeFact:
    layer, given = layer_of(look), given_to(look)
    if given.dims is None or layer.get(kept) is not None or not layer.name or len(given.dims) < 2:
        return NOTHING
    return array(regrouped(given.dims, (given.dims[0], product(given.dims[1:]))), given.dtype)


def _filled(look: Look, shape: str) -> ShapeFact:
    """An array of that shape."""
    return array(shape_of(look.fact(shape)), None if look.has("dtype") else "float32")


def _initial(look: Look, function: str, arguments: str) -> ShapeFact:
    """What an initializer gives for a key and these arguments."""
    start, given = look.raw(function), look.raw(arguments)
    named = isinstance(start, str) and ".initializers." in start
    kind = look.of(start).layer if start is not None and not named else None
    if not isinstance(given, tuple) or not given or not (named or (kind is not None and kind.name == INITIALIZER)):
        return NOTHING
    return array(shape_of(look.of(given[0])), "float32" if len(given) == 1 else None)


def _called(look: Look, function: str, arguments: str) -> ShapeFact:
    """What a function that makes arrays gives for these arguments."""
    start, given = look.raw(function), look.raw(arguments)
    if (
        start not in ("jax.numpy.zeros", "jax.numpy.ones", "jax.numpy.empty")
        or not isinstance(given, tuple)
        or not given
    ):
        return NOTHING
    return array(shape_of(look.of(given[0])), "float32" if len(given) == 1 else look.named_dtype(given[1]))


FUNCTIONS: Mapping[str, Callable[..., ShapeFact]] = {
    "last": _last,
    "cell": _cell,
    "embedded": _embedded,
    "same": _same,
    "general": _general,
    "attended": _attended,
    "heads": _heads,
    "unrolled": _unrolled,
    "carry": _carry,
    "started": _started,
    "flattened": _flattened,
    "filled": _filled,
    "initial": _initial,
    "called": _called,
}
"""What the calls of layers give, by the names that rows use."""
