"""Windows that go over the axes of space: pooling as a function and as a layer, transposed convolutions, padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxaudit.analyses.dims import ONE, UNKNOWN, Dim, constant
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, Layer, ShapeFact, array
from jaxaudit.analyses.shapes.literals import array_like, shape_of
from jaxaudit.analyses.shapes.transfer.convolve import covered
from jaxaudit.analyses.shapes.transfer.look import Look

Call = Callable[[Look, Layer, ShapeFact], ShapeFact]


def pooled(look: Look) -> ShapeFact:
    """Return `avg_pool(x, window, strides, padding)` of flax and haiku: the channels are last, and stay."""
    given = array_like(look.fact("inputs", "value"))
    window, steps = look.fact("window_shape"), look.fact("strides")
    by_haiku = look.op.qualified.startswith("haiku.")
    if given.dims is None or look.has("*", "**", "channel_axis"):
        return NOTHING
    padding = look.raw("padding") or "VALID"
    sizes = _everywhere(window, given.dims) if by_haiku else _spatial(window, given.dims)
    strides = _everywhere(steps, given.dims) if by_haiku else _spatial(steps, given.dims)
    if not look.has("strides"):
        strides = (ONE,) * len(given.dims)
    if sizes is None or strides is None:
        return array((UNKNOWN,) * len(given.dims), given.dtype)
    dims = [
        dim if size.constant == 1 and step.constant == 1 else covered(dim, size, step.constant, padding)
        for dim, size, step in zip(given.dims, sizes, strides, strict=True)
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


def pool_layer(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
    """Return a pooling layer of equinox: the channels are first, and stay."""
    if not given.dims:
        return NOTHING
    count = len(given.dims) - 1
    window, steps, padding = (_each(layer.get(name), count) for name in ("kernel_size", "stride", "padding"))
    if not layer.name or window is None or (layer.get("stride") is not None and steps is None):
        return array((given.dims[0], *(UNKNOWN,) * count), given.dtype)
    if layer.get("use_ceil") is not None or (layer.get("padding") is not None and padding is None):
        return array((given.dims[0], *(UNKNOWN,) * count), given.dtype)
    sizes = []
    for at, dim in enumerate(given.dims[1:]):
        wide = dim + padding[at] + padding[at] if padding is not None else dim
        sizes.append(covered(wide, window[at], 1 if steps is None else steps[at].constant, "VALID"))
    return array((given.dims[0], *sizes), given.dtype)


def adaptive_layer(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
    """Return an adaptive pooling layer of equinox: the axes of space get the sizes that were asked for."""
    if not given.dims:
        return NOTHING
    asked = _each(layer.get("target_shape"), len(given.dims) - 1)
    sizes = (UNKNOWN,) * (len(given.dims) - 1) if asked is None else asked
    return array((given.dims[0], *sizes), given.dtype)


def _each(fact: ShapeFact | None, count: int) -> Dims | None:
    """Return one size for each axis of space."""
    if fact is None:
        return None
    if fact.number is not None:
        return (fact.number,) * count
    sizes = shape_of(fact)
    return sizes if sizes is not None and len(sizes) == count else None


def transposed(features: str, kernel: str, stride: str, *, first: bool = False) -> Call:
    """Make the call of a transposed convolution: the axes of space grow by the stride."""

    def call(look: Look, layer: Layer, given: ShapeFact) -> ShapeFact:
        if given.dims is None or len(given.dims) < 2:
            return NOTHING
        wide = layer.get(features)
        width = UNKNOWN if wide is None or wide.number is None else wide.number
        spatial = given.dims[1:] if first else given.dims[1:-1]
        window, steps = _each(layer.get(kernel), len(spatial)), _each(layer.get(stride), len(spatial))
        plain = not any(
            layer.get(name) for name in ("kernel_dilation", "dilation", "output_padding", "padding", "rate")
        )
        if not layer.name or window is None or not plain or (layer.get(stride) is not None and steps is None):
            grown: Dims = (UNKNOWN,) * len(spatial)
        else:
            every = (ONE,) * len(spatial) if steps is None else steps
            padding = "" if first else layer.text("padding") or "SAME"
            grown = tuple(_grown(*one, padding) for one in zip(spatial, window, every, strict=True))
        dims = (width, *grown) if first else (given.dims[0], *grown, width)
        return array(dims, "float32" if given.dtype == "float32" else None)

    return call


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


FUNCTIONS: Mapping[str, Callable[[Look], ShapeFact]] = dict.fromkeys(
    (f"{module}.{name}_pool" for module in ("flax.linen", "flax.nnx", "haiku") for name in ("avg", "max", "min")),
    pooled,
)
"""The functions that pool."""
