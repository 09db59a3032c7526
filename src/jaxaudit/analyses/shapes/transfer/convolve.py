"""Convolutions: batch and channels by their place in the layout, and what a window leaves of the other axes."""

from __future__ import annotations

from jaxaudit.analyses.dims import UNKNOWN, Dim, constant
from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, array
from jaxaudit.analyses.shapes.transfer.look import Look
from jaxaudit.ir import Argument

_CONVOLUTIONS = frozenset(("conv", "conv_general_dilated", "conv_with_general_padding"))
_LAYOUTS = {3: ("NCW", "OIW", "NCW"), 4: ("NCHW", "OIHW", "NCHW"), 5: ("NCDHW", "OIDHW", "NCDHW")}


def convolved(look: Look) -> ShapeFact:
    """Return a convolution by JAX's own functions, whose layout has the channels before the spatial axes."""
    lhs, rhs = look.fact("lhs").dims, look.fact("rhs").dims
    plain = look.raw("lhs_dilation") is None and look.raw("rhs_dilation") is None
    if look.function not in _CONVOLUTIONS or lhs is None or rhs is None or len(lhs) != len(rhs) or not plain:
        return NOTHING
    given = look.raw("dimension_numbers")
    layouts = _LAYOUTS.get(len(lhs)) if given is None else given
    if not isinstance(layouts, tuple) or not all(isinstance(one, str) and len(one) == len(lhs) for one in layouts):
        return NOTHING
    source, kernel, target = (str(one) for one in layouts)
    spatial = [letter for letter in source if letter not in "NC"]
    strides = look.raw("window_strides")
    sizes = {"N": lhs[source.index("N")], "C": rhs[kernel.index("O")]}
    for at, letter in enumerate(spatial):
        step = strides[at] if isinstance(strides, tuple) and at < len(strides) else 0
        padding = look.raw("padding")
        around = padding[at] if isinstance(padding, tuple) and at < len(padding) else padding
        sizes[letter] = covered(lhs[source.index(letter)], rhs[kernel.index(letter)], step, around)
    return array(tuple(sizes.get(letter, UNKNOWN) for letter in target), look.fact("lhs").dtype)


def covered(size: Dim, window: Dim, step: Argument, padding: Argument) -> Dim:
    """Return the size of a spatial axis after a window has gone over it."""
    if not isinstance(step, int) or step < 1:
        return UNKNOWN
    if padding == "SAME":
        return size if step == 1 else (size + constant(step - 1)) // constant(step)
    match (0, 0) if padding == "VALID" else padding:
        case (int() as before, int() as behind):
            return (size + constant(before + behind) - window) // constant(step) + constant(1)
    return UNKNOWN
