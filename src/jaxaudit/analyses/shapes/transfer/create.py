"""New arrays: from sizes, from Python data, and like other arrays."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from jaxaudit.analyses.dims import UNKNOWN, Dim, constant, product
from jaxaudit.analyses.labels import length_labels, made_by
from jaxaudit.analyses.shapes.dtypes import promote
from jaxaudit.analyses.shapes.facts import DEVICES, NOTHING, ShapeFact, array, as_number, outline_of
from jaxaudit.analyses.shapes.literals import array_dims, array_like, leaves, shape_of, shaped
from jaxaudit.analyses.shapes.mapped import marked
from jaxaudit.analyses.shapes.transfer.look import Look, Single, Transfer, single
from jaxaudit.analyses.shapes.transfer.stated import stated
from jaxaudit.ir.functions import ARRAYS_OF_ITEMS, GROWING_ALONG
from jaxaudit.ir.values import is_integer


def _filled(look: Look) -> ShapeFact:
    return shaped(look.fact("shape"), _dtype(look, "float32"))


def _dtype(look: Look, default: str | None) -> str | None:
    return look.dtype("dtype") if look.raw("dtype") is not None else default


def _full(look: Look) -> ShapeFact:
    fill = look.fact("fill_value")
    weak = fill.weak and look.raw("dtype") is None
    return shaped(look.fact("shape"), _dtype(look, fill.dtype), weak=weak)


def _like(look: Look) -> ShapeFact:
    base = look.first()
    sized = look.raw("shape") is not None
    dims = shape_of(look.fact("shape")) if sized else array_dims(base)
    given = look.raw("dtype") is not None
    outline = look.fact("shape").sizes if sized else outline_of(base)
    return array(dims, _dtype(look, base.dtype), weak=base.weak and not given, outline=outline)


def _from_data(look: Look) -> ShapeFact:
    base = look.first()
    if base.each is not None:
        return array(array_dims(base), _dtype(look, promote([array_like(base.each)])[0]))
    if (count := DEVICES.get(base.symbol, NOTHING).number) is not None:
        return array((count,), None)
    if base.items is None:
        given = look.raw("dtype") is not None
        weak = base.weak and not given
        return array(base.dims, _dtype(look, base.dtype), weak=weak, outline=outline_of(base))
    dtype, _ = promote(leaves(base))
    return array(array_dims(base), _dtype(look, dtype))


def _arange(look: Look) -> ShapeFact:
    bounds = [look.raw(name) for name in ("start", "stop", "step")]
    if look.raw("stop") is None:
        bounds[:2] = [0, bounds[0]]
    stepped = bounds[2] not in (None, 1)
    if stepped or float in map(type, bounds):
        whole = all(bound is None or is_integer(bound) for bound in bounds)
        size = _constant_range(*bounds)
        return array((size,), _dtype(look, "int32" if whole else "float32" if size.known else None))
    start, stop = look.fact("start"), look.fact("stop")
    if not look.has("stop"):
        start, stop = ShapeFact(), start
    first = constant(0) if start == ShapeFact() else as_number(start)
    last = as_number(stop)
    size = UNKNOWN if first is None or last is None else last if first == constant(0) else _between(first, last)
    if size.constant is not None and size.constant < 0:
        size = constant(0)
    whole = all(fact.number is not None for fact in (start, stop) if fact != ShapeFact())
    return array((size if whole or stop.symbol else UNKNOWN,), _dtype(look, "int32" if whole else None))


def _between(first: Dim, last: Dim) -> Dim:
    """Return how many numbers there are from one up to another, by the name of the size that was added."""
    return (last - first).labelled(length_labels(first, last))


def _constant_range(start: object, stop: object, step: object) -> Dim:
    """Return how many numbers there are between two that are written down, as NumPy counts them."""
    step = 1 if step is None else step
    if isinstance(start, int | float) and isinstance(stop, int | float) and isinstance(step, int | float) and step:
        return constant(max(0, ceil((stop - start) / step)))
    return UNKNOWN


def _linspace(look: Look) -> ShapeFact:
    size = as_number(look.fact("num")) if look.has("num") else constant(50)
    ends = [array_dims(look.fact(name)) for name in ("start", "stop")]
    if look.raw("retstep") not in (None, False) or any(dims != () for dims in ends):
        return NOTHING
    return array((UNKNOWN if size is None else size,), _dtype(look, "float32"))


def _eye(look: Look) -> ShapeFact:
    rows = as_number(look.fact("N", "n"))
    columns = as_number(look.fact("M")) if look.raw("M") is not None else rows
    if rows is None or columns is None:
        return NOTHING
    return array((rows, columns), _dtype(look, "float32"))


def _iota(look: Look) -> ShapeFact:
    size = as_number(look.fact("size"))
    return array((UNKNOWN if size is None else size,), look.dtype("dtype"))


def _sized(look: Look) -> ShapeFact:
    return shaped(look.fact("shape"), look.dtype("dtype"))


_CREATE: Mapping[str, Single] = {
    **dict.fromkeys(("zeros", "ones", "empty"), _filled),
    **dict.fromkeys(("zeros_like", "ones_like", "empty_like", "full_like"), _like),
    **dict.fromkeys(ARRAYS_OF_ITEMS, _from_data),
    "full": _full,
    "arange": _arange,
    "linspace": _linspace,
    **dict.fromkeys(("eye", "identity", "tri"), _eye),
    "iota": _iota,
    **dict.fromkeys(("broadcasted_iota", "make_array_from_callback", "make_array_from_single_device_arrays"), _sized),
}


def _create(look: Look) -> ShapeFact:
    known = _CREATE.get(look.function)
    if known is None or look.has("*", "**"):
        return stated(look, look.op.qualified) or NOTHING
    made = known(look)
    return marked(made, 0, made_by("ordered", look.op)) if look.function in GROWING_ALONG else made


def _numpy(look: Look) -> ShapeFact:
    """NumPy's constructors are JAX's, but for dtypes, which JAX reads anew when the array comes in."""
    if look.function == "prod" and len(look.op.arguments) == 1 and look.first().items is not None:
        sizes = [as_number(item) for item in look.first().items or ()]
        whole = [size for size in sizes if size is not None]
        return ShapeFact((), "int32", number=product(whole)) if len(whole) == len(sizes) else NOTHING
    known = _CREATE.get(look.function)
    if known is None or look.has("*", "**"):
        return NOTHING
    made = known(look)
    return array(made.dims, made.dtype)


TABLE: Mapping[str, Transfer] = {"array.create": single(_create), "array.numpy": single(_numpy)}
