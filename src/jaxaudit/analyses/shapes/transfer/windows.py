"""Windows that go over the axes of space: convolutions and pooling, as functions and as layers.

Functions whose names end in `_first` are those of layers that have the channels first, and no axis for a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from jaxaudit.analyses.dims import ONE, UNKNOWN, Dim, constant
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, Layer, ShapeFact, array
from jaxaudit.analyses.shapes.literals import array_like, shape_of
from jaxaudit.analyses.shapes.transfer.convolve import covered
from jaxaudit.analyses.shapes.transfer.layers import dtype_of, given_to, layer_of, width_of
from jaxaudit.analyses.shapes.transfer.look import Look


def _pooled(look: Look, value: str, window: str, stride: str, padding: str, *, everywhere: bool = False) -> ShapeFact:
    """Return what a window leaves of an array whose channels are last; `everywhere` it has a size for every axis."""
    given = array_like(look.fact(value))
    if given.dims is None:
        return NOTHING
    sized = _everywhere if everywhere else _spatial
    sizes, steps = sized(look.fact(window), given.dims), sized(look.fact(stride), given.dims)
    steps = steps if look.has(stride) else (ONE,) * len(given.dims)
    if sizes is None or steps is None:
        return array((UNKNOWN,) * len(given.dims), given.dtype)
    edge = look.raw(padding) or "VALID"
    dims = [
        dim if size.constant == 1 and step.constant == 1 else covered(dim, size, step.constant, edge)
        for dim, size, step in zip(given.dims, sizes, steps, strict=True)
    ]
    return array(tuple(dims), given.dtype)


def _spatial(fact: ShapeFact, dims: Dims) -> Dims | None:
    """Return what a window covers of each axis, where it speaks of those before the channels."""
    sizes = shape_of(fact) if fact.items is not None else None
    if sizes is None or len(sizes) >= len(dims):
        return None
    return (*(ONE for _ in range(len(dims) - len(sizes) - 1)), *sizes, ONE)


def _everywhere(fact: ShapeFact, dims: Dims) -> Dims | None:
    """Return what a window of haiku covers of each axis: one number means all but the batch and the channels."""
    if fact.number is not None:
        return (ONE, *(fact.number for _ in dims[2:]), ONE)
    sizes = shape_of(fact)
    if sizes is None or len(sizes) > len(dims):
        return None
    return (*(ONE for _ in range(len(dims) - len(sizes))), *sizes)


def _space(given: ShapeFact, *, first: bool) -> range | None:
    """Return the places of the axes that a window goes over."""
    if given.dims is None or len(given.dims) < 2:
        return None
    return range(1, len(given.dims)) if first else range(1, len(given.dims) - 1)


def _pooled_first(look: Look, window: str, stride: str, padding: str) -> ShapeFact:
    """Return what pooling leaves: the channels stay."""
    layer, given = layer_of(look), given_to(look)
    if not given.dims:
        return NOTHING
    count = len(given.dims) - 1
    sizes, steps, edges = (_each(layer.get(name), count) for name in (window, stride, padding))
    unknown = (
        not layer.name
        or sizes is None
        or any(layer.get(name) is not None and each is None for name, each in ((stride, steps), (padding, edges)))
    )
    if unknown or sizes is None:
        return array((given.dims[0], *(UNKNOWN,) * count), given.dtype)
    made = []
    for at, dim in enumerate(given.dims[1:]):
        wide = dim if edges is None else dim + edges[at] + edges[at]
        made.append(covered(wide, sizes[at], 1 if steps is None else steps[at].constant, "VALID"))
    return array((given.dims[0], *made), given.dtype)


def _adaptive_first(look: Look, shape: str) -> ShapeFact:
    """The axes of space get the sizes that were asked for."""
    layer, given = layer_of(look), given_to(look)
    if not given.dims:
        return NOTHING
    asked = _each(layer.get(shape), len(given.dims) - 1)
    return array((given.dims[0], *((UNKNOWN,) * (len(given.dims) - 1) if asked is None else asked)), given.dtype)


def _each(fact: ShapeFact | None, count: int) -> Dims | None:
    """Return one size for each axis of space."""
    if fact is None:
        return None
    if fact.number is not None:
        return (fact.number,) * count
    sizes = shape_of(fact)
    return sizes if sizes is not None and len(sizes) == count else None


def _convolved(
    look: Look,
    features: str,
    window: str,
    stride: str,
    padding: str,
    dilation: str,
    *,
    first: bool = False,
    pairs: bool = False,
) -> ShapeFact:
    """Return what a convolution gives: a window goes over the axes of space, and the channels are as many as asked.

    With `pairs`, padding in numbers is known where it has a pair for each axis alone.
    """
    layer, given = layer_of(look), given_to(look)
    places = _space(given, first=first)
    if places is None or given.dims is None:
        return NOTHING
    dims = list(given.dims)
    sizes = _window(layer, window, len(places))
    spread = _each(layer.get(dilation), len(places)) if layer.get(dilation) else (ONE,) * len(places)
    usual = "VALID" if first else "SAME"
    for at, place in enumerate(places):
        if sizes is None or spread is None:
            dims[place] = UNKNOWN
            continue
        size, edge = (sizes[at] - ONE) * spread[at] + ONE, layer.get(padding)
        each = edge is not None and (not pairs or all(side.items for side in edge.items or (edge,)))
        wide = padded(dims[place], edge, at, len(places)) if edge is not None and each else None
        if edge is not None:
            dims[place] = UNKNOWN if wide is None else covered(wide, size, _step(layer, stride, at), "VALID")
        else:
            dims[place] = covered(dims[place], size, _step(layer, stride, at), layer.text(padding) or usual)
    dims[0 if first else -1] = width_of(layer, features)
    return array(tuple(dims), dtype_of(look, layer, given))


def _window(layer: Layer, name: str, count: int) -> Dims | None:
    """Return the sizes of a window; one number means all axes of space, but in flax the only one."""
    fact = layer.get(name)
    if fact is None or fact.number is None:
        return _each(fact, count)
    return (fact.number,) * count if layer.name[-2:-1].isdigit() or count == 1 else None


def _step(layer: Layer, name: str, at: int) -> int:
    fact = layer.get(name)
    if fact is None:
        return 1
    sizes = shape_of(fact)
    size = None if sizes is None else sizes[at] if at < len(sizes) else sizes[0]
    return 0 if size is None or size.constant is None else size.constant


def _transposed(
    look: Look, features: str, window: str, stride: str, padding: str = "", *, first: bool = False
) -> ShapeFact:
    """Return what a transposed convolution gives: the axes of space grow by the stride."""
    layer, given = layer_of(look), given_to(look)
    places = _space(given, first=first)
    if places is None or given.dims is None:
        return NOTHING
    sizes, steps = _each(layer.get(window), len(places)), _each(layer.get(stride), len(places))
    edge = "" if first else layer.text(padding) or "SAME"
    spatial = [given.dims[place] for place in places]
    if not layer.name or sizes is None or layer.get(padding) or (layer.get(stride) is not None and steps is None):
        grown: Dims = (UNKNOWN,) * len(spatial)
    else:
        every = (ONE,) * len(spatial) if steps is None else steps
        grown = tuple(_grown(*one, edge) for one in zip(spatial, sizes, every, strict=True))
    width = width_of(layer, features)
    return array((width, *grown) if first else (given.dims[0], *grown, width), dtype_of(look, layer, given))


def _grown(size: Dim, window: Dim, step: Dim, padding: str) -> Dim:
    if padding == "SAME":
        return size * step
    if not padding:
        return size * step + window - step
    if padding != "VALID" or window.constant is None or step.constant is None:
        return UNKNOWN
    return size * step + constant(max(window.constant - step.constant, 0))


def padded(size: Dim, fact: ShapeFact, at: int, count: int) -> Dim | None:
    """Return the size of an axis with its padding, where that is written in numbers; None where it is not."""
    one = fact.items[at] if fact.items is not None and len(fact.items) == count else fact
    if one.number is not None:
        return size + one.number + one.number
    sides = shape_of(one) if one.items is not None and len(one.items) == 2 else None
    return None if sides is None or one is fact else size + sides[0] + sides[1]


FUNCTIONS: Mapping[str, Callable[..., ShapeFact]] = {
    "pooled": _pooled,
    "pooled_everywhere": partial(_pooled, everywhere=True),
    "pooled_first": _pooled_first,
    "adaptive_first": _adaptive_first,
    "convolved": _convolved,
    "convolved_by_pairs": partial(_convolved, pairs=True),
    "convolved_first": partial(_convolved, first=True),
    "transposed": _transposed,
    "transposed_first": partial(_transposed, first=True),
}
"""What windows leave, by the names that rows use."""
