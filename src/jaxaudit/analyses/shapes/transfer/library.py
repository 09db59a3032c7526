"""Library functions that need no op of their own but have a shape: losses, and the making and calling of layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from jaxaudit.analyses.dims import constant
from jaxaudit.analyses.shapes.asserted import asserted
from jaxaudit.analyses.shapes.broadcast import equal, shape_text
from jaxaudit.analyses.shapes.facts import DEVICES, NOTHING, ShapeFact, array, join
from jaxaudit.analyses.shapes.literals import array_dims
from jaxaudit.analyses.shapes.mapped import without_axis
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.transfer import convolve, distributions, environments, layers, meshes
from jaxaudit.analyses.shapes.transfer.look import Look, Transfer, single
from jaxaudit.analyses.shapes.transfer.stated import stated
from jaxaudit.ir import REST
from jaxaudit.libraries.lookup import lookup, plays

_DEVICES: Mapping[str, str] = {
    "jax.devices": "jax.devices()",
    "jax.device_count": "jax.devices()",
    "jax.local_devices": "jax.local_devices()",
    "jax.local_device_count": "jax.local_devices()",
}


def _call(look: Look) -> ShapeFact:
    name = look.op.qualified
    made = stated(look, name)
    if made is not None:
        return made
    if name in _DEVICES and not look.op.arguments:
        return DEVICES[_DEVICES[name]] if name.endswith("count") else ShapeFact(symbol=_DEVICES[name])
    if plays(name, "assertion"):
        return _asserts(look)
    if name in meshes.MAKERS:
        return meshes.MAKERS[name](look)
    return _OF_NUMBERS[name](look) if name in _OF_NUMBERS else _made(look, name)


def _of_one(look: Look) -> ShapeFact:
    """Return `sum(items)` or `max(items)`, which is like each of the items, as `max(n, 1)` is like `n` and `1`."""
    if look.has("args"):
        one = reduce(join, look.fact("args").items or (NOTHING,))
        return one if one.dims == () else NOTHING
    given = look.fact("iterable") if look.has("iterable") else look.first()
    each = given.each or (reduce(join, given.items) if given.items else without_axis(given, 0))
    counted = look.op.qualified == "builtins.sum" and each.dtype == "bool"
    return array(array_dims(each), None if counted else each.dtype, weak=each.weak)


def _rounded(look: Look) -> ShapeFact:
    """Return `round(x)`, which is an integer where `x` is a number of Python's."""
    return array(look.first().dims, None)


_OF_NUMBERS: Mapping[str, Callable[[Look], ShapeFact]] = {
    **dict.fromkeys(("builtins.sum", "builtins.max", "builtins.min"), _of_one),
    "builtins.round": _rounded,
}
"""Functions of Python's that numbers and arrays know how to answer."""


def _made(look: Look, name: str) -> ShapeFact:
    """Return the fact of a new layer or distribution."""
    row = lookup(name)
    found = None if row is None else distributions.made(look, name, row) or environments.made(look, name, row)
    return layers.made(look, name) if found is None else found


def _draw(look: Look) -> ShapeFact:
    """Return what is drawn from a key: numbers, a new layer, or a layer's input with noise."""
    name = look.op.qualified
    made = stated(look, name)
    return layers.made(look, name) if made is None else made


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
    return stated(look, look.op.qualified) or convolve.convolved(look)


def _from_outside(look: Look) -> ShapeFact:
    """Return what the clock or a file gives."""
    return stated(look, look.op.qualified) or NOTHING


TABLE: Mapping[str, Transfer] = {
    "py.call_library": single(_call),
    "py.clock": single(_from_outside),
    "key.draw": single(_draw),
    "array.convolve": single(_windowed),
}
