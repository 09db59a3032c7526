"""Library functions that need no op of their own but have a shape: losses, and the making and calling of layers."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.dims import constant
from jaxaudit.analyses.shapes.asserted import asserted
from jaxaudit.analyses.shapes.broadcast import broadcast, equal, shape_text
from jaxaudit.analyses.shapes.dtypes import promote
from jaxaudit.analyses.shapes.facts import DEVICES, NOTHING, ShapeFact, array, sequence
from jaxaudit.analyses.shapes.literals import array_like
from jaxaudit.analyses.shapes.mapped import without_axis
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.transfer import convolve, distributions, layers, windows
from jaxaudit.analyses.shapes.transfer.keys import draw
from jaxaudit.analyses.shapes.transfer.look import Look, Single, Transfer, single
from jaxaudit.ir import REST
from jaxaudit.libraries.lookup import lookup
from jaxaudit.libraries.results import Like, Made, Number, Parts, Result


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


_DEVICES: Mapping[str, str] = {
    "jax.devices": "jax.devices()",
    "jax.device_count": "jax.devices()",
    "jax.local_devices": "jax.local_devices()",
    "jax.local_device_count": "jax.local_devices()",
}


def _stated(look: Look, result: Result) -> ShapeFact | None:
    """Return what the row of a function says that it gives; None where it says nothing of shapes."""
    match result:
        case Like(param=param, dtypes=dtypes):
            given = look.fact(param)
            known = given if given.dims is not None or given.layer is not None else NOTHING
            return known if dtypes and not look.has("dtype") else array(known.dims, None)
        case Number(dtype=dtype):
            return array((), dtype)
        case Parts(items=items) if not all(item is None or isinstance(item, Made) for item in items):
            return sequence(tuple(_stated(look, item) or NOTHING for item in items))
    return None


_OF_MODULES: Mapping[str, Single] = {
    "param": layers.parameter,
    "variable": layers.variable,
    "get_parameter": layers.parameter,
    "initial_state": layers.initial_state,
}


def _call(look: Look) -> ShapeFact:
    name = look.op.qualified
    known = _LOSSES.get(name)
    if known is not None:
        return known(look)
    row = lookup(name)
    if row is not None and (stated := _stated(look, row.result)) is not None:
        return stated
    if name in _DEVICES and not look.op.arguments:
        return DEVICES[_DEVICES[name]] if name.endswith("count") else ShapeFact(symbol=_DEVICES[name])
    if name.endswith(".__call__"):
        return layers.called(look, name) or NOTHING
    if name.endswith(".Embed.attend"):
        return layers.attended(look)
    if name in layers.VARIABLES and len(look.op.operands) == 1:
        return array_like(look.first())
    if name.startswith("chex.assert_"):
        return _asserts(look)
    special = _OF_MODULES.get(look.function)
    if special is not None:
        return special(look)
    found = distributions.asked(look, name)
    if found is None:
        found = distributions.made(look, name)
    return layers.made(look, name) if found is None else found


def _draw(look: Look) -> ShapeFact:
    """Return what is drawn from a key: numbers, a new layer, or a layer's input with noise."""
    name = look.op.qualified
    if name in layers.CLASSES:
        return layers.made(look, name)
    row = lookup(name)
    sample = distributions.asked(look, name)
    if sample is None and row is not None:
        sample = _stated(look, row.result)
    if sample is not None:
        return sample
    return (layers.called(look, name) if name.endswith(".__call__") else None) or draw(look)


def _asserts(look: Look) -> ShapeFact:
    """Judge an assertion about shapes: what it asks for, and what the arrays are."""
    for value, names in asserted(look.op):
        dims = look.read(value).dims
        if dims is None or REST in names:
            continue
        clash = f"`{look.function}` asks for {len(names)} axes, and the array is {shape_text(dims)}"
        if len(dims) != len(names):
            look.judge(Fit.CLASHES, clash)
            continue
        fits = [equal(dim, constant(int(name))) for dim, name in zip(dims, names, strict=True) if name.isdigit()]
        asked = ", ".join(name or "any" for name in names)
        clash = f"`{look.function}` asks for ({asked}), and the array is {shape_text(dims)}"
        look.judge(Fit.CLASHES if Fit.CLASHES in fits else Fit.OPEN if Fit.OPEN in fits else Fit.FITS, clash)
    return NOTHING


def _windowed(look: Look) -> ShapeFact:
    """Return what a window leaves that goes over an array: a convolution, or pooling."""
    return windows.FUNCTIONS.get(look.op.qualified, convolve.convolved)(look)


TABLE: Mapping[str, Transfer] = {
    "py.call_library": single(_call),
    "key.draw": single(_draw),
    "array.convolve": single(_windowed),
}
