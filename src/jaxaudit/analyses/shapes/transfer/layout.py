"""What rearranges axes: reshape, transpose, new and dropped axes, padding."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.dims import ONE, UNKNOWN, Dim, constant, differ, product, whole
from jaxaudit.analyses.labels import Label
from jaxaudit.analyses.regroup import product_of, regrouped
from jaxaudit.analyses.shapes.broadcast import broadcast, equal, shape_text
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, ShapeFact, array, as_number
from jaxaudit.analyses.shapes.literals import array_like, axes_in, shape_of
from jaxaudit.analyses.shapes.mapped import place_of, resized
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.transfer.einops import is_pattern, patterned
from jaxaudit.analyses.shapes.transfer.look import Look, Single, Transfer, single
from jaxaudit.ir import Op

_AUTOMATIC = constant(-1)


def _reshape(look: Look) -> ShapeFact:
    if is_pattern(look):
        return patterned(look)
    base = array_like(look.first())
    if look.function in ("ravel", "flatten"):
        flat = None if base.dims is None else regrouped(base.dims, (product(base.dims),), look.op)
        return array(flat, base.dtype, weak=base.weak)
    if look.function != "reshape" or look.has("*", "**"):
        return NOTHING
    wanted = wanted_shape(look)
    if wanted is None:
        return NOTHING
    made = _resolved(look, base.dims, wanted)
    return array(made if base.dims is None else regrouped(base.dims, made, look.op), base.dtype, weak=base.weak)


def wanted_shape(look: Look) -> Dims | None:
    """Return the shape that a reshape asks for, `-1` where it is left open."""
    given = look.fact("shape", "new_sizes", "newshape")
    if given.items is not None and len(given.items) == 1 and given.items[0].number is None:
        inner = given.items[0]
        # `x.reshape(shape)` with something that may be a tuple.
        return shape_of(inner) if inner.items is not None else None
    return shape_of(given)


def _resolved(look: Look, dims: Dims | None, wanted: Dims) -> Dims:
    open_places = [i for i, dim in enumerate(wanted) if dim == _AUTOMATIC]
    fixed = whole(product(dim for dim in wanted if dim != _AUTOMATIC))
    if dims is None:
        return tuple(UNKNOWN if dim == _AUTOMATIC else dim for dim in wanted)
    total = whole(product(dims))
    fit = _divides(total, fixed) if open_places else equal(total, fixed)
    look.judge(fit, f"{shape_text(dims)} cannot become {shape_text(wanted)}" if fit is Fit.CLASHES else "")
    if not open_places:
        return wanted
    rest = total // fixed
    if len(wanted) > 1:
        rest = rest.labelled(frozenset((Label("rest"),)))
    return tuple(rest if dim == _AUTOMATIC else dim for dim in wanted)


def _divides(total: Dim, fixed: Dim) -> Fit:
    left = (total % fixed).constant
    return Fit.OPEN if left is None else Fit.FITS if left == 0 else Fit.CLASHES


def _permute(look: Look) -> ShapeFact:
    base = array_like(look.first())
    if base.dims is None:
        return NOTHING
    order = _order(look, len(base.dims))
    if order is None:
        return array((UNKNOWN,) * len(base.dims), base.dtype)
    return array(tuple(base.dims[i] for i in order), base.dtype, weak=base.weak)


def _order(look: Look, rank: int) -> list[int] | None:
    """Return which old axis stands at each new place."""
    function = look.function
    if function in ("mT", "matrix_transpose"):
        return [*range(rank - 2), rank - 1, rank - 2] if rank >= 2 else None
    if function == "swapaxes":
        return _swapped(look, rank)
    if function == "moveaxis":
        return _moved(look, rank)
    if function not in ("T", "transpose", "permute_dims"):
        return None
    given = look.raw("axes", "permutation")
    if given is None or given == ():
        return list(range(rank))[::-1]
    if isinstance(given, tuple) and len(given) == 1 and isinstance(given[0], tuple):
        given = given[0]
    axes = axes_in(given)
    places = None if axes is None else [place_of(axis, rank) for axis in axes]
    if places is not None and (None in places or sorted(p for p in places if p is not None) != list(range(rank))):
        look.judge(Fit.CLASHES, f"axes {axes} do not order an array with {rank} axes")
        return None
    return None if places is None else [place for place in places if place is not None]


def _swapped(look: Look, rank: int) -> list[int] | None:
    first, second = look.raw("axis1"), look.raw("axis2")
    if not isinstance(first, int) or not isinstance(second, int):
        return None
    a, b = place_of(first, rank), place_of(second, rank)
    if a is None or b is None:
        look.judge(Fit.CLASHES, f"axes {first} and {second} of an array with {rank} axes")
        return None
    order = list(range(rank))
    order[a], order[b] = order[b], order[a]
    return order


def _moved(look: Look, rank: int) -> list[int] | None:
    source, target = axes_in(look.raw("source")), axes_in(look.raw("destination"))
    if source is None or target is None or len(source) != len(target):
        return None
    old, new = [place_of(i, rank) for i in source], [place_of(i, rank) for i in target]
    if None in old or None in new:
        look.judge(Fit.CLASHES, f"axes {source} and {target} of an array with {rank} axes")
        return None
    order = [i for i in range(rank) if i not in old]
    for place, axis in sorted(zip(new, old, strict=True), key=lambda pair: pair[0] or 0):
        order.insert(place or 0, axis or 0)
    return order


def _expand_dims(look: Look) -> ShapeFact:
    base = array_like(look.first())
    axes = axes_in(look.raw("axis", "dimensions"))
    if base.dims is None or axes is None:
        return NOTHING
    rank = len(base.dims) + len(axes)
    places = {place_of(axis, rank) for axis in axes}
    if None in places:
        look.judge(Fit.CLASHES, f"axis {axes} of an array with {rank} axes")
        return NOTHING
    left = list(base.dims)
    return array(tuple(ONE if i in places else left.pop(0) for i in range(rank)), base.dtype, weak=base.weak)


def _broadcast_to(look: Look) -> ShapeFact:
    base, wanted = array_like(look.first()), shape_of(look.fact("shape"))
    if base.dims is not None and wanted is not None:
        together, fit = broadcast((base.dims, wanted))
        grown = together is not None and any(differ(a, b) for a, b in zip(together[::-1], wanted[::-1], strict=False))
        fit = Fit.CLASHES if grown or len(base.dims) > len(wanted) else fit
        clash = f"{shape_text(base.dims)} does not broadcast to {shape_text(wanted)}" if fit is Fit.CLASHES else ""
        look.judge(fit, clash)
    return array(wanted, base.dtype, weak=base.weak)


def _one_hot(look: Look) -> ShapeFact:
    base, size = array_like(look.first()), as_number(look.fact("num_classes"))
    if base.dims is None or look.raw("axis") not in (None, -1):
        return NOTHING
    return array((*base.dims, UNKNOWN if size is None else size), None if look.has("dtype") else "float32")


def _repeat(look: Look) -> ShapeFact:
    base, axis = array_like(look.first()), look.raw("axis")
    times = as_number(look.fact("repeats"))
    if base.dims is None or look.has("total_repeat_length"):
        return NOTHING
    if look.fact("repeats").number is None:
        times = None
    if axis is None:
        return array((UNKNOWN if times is None else _multiplied((*base.dims, times), look.op),), base.dtype)
    place = place_of(axis, base.rank) if isinstance(axis, int) else None
    if place is None:
        return NOTHING
    return resized(base, place, UNKNOWN if times is None else _multiplied((base.dims[place], times), look.op))


def _multiplied(parts: Dims, op: Op) -> Dim:
    """Return the size of an axis that runs through others: the last of them turns fastest."""
    return product(parts).labelled(product_of(parts, op))


def _tile(look: Look) -> ShapeFact:
    base, times = array_like(look.first()), shape_of(look.fact("reps"))
    if base.dims is None or times is None:
        return NOTHING
    rank = max(len(base.dims), len(times))
    old = (ONE,) * (rank - len(base.dims)) + base.dims
    by = (ONE,) * (rank - len(times)) + times
    pairs = zip(old, by, strict=True)
    return array(
        tuple(a if b == ONE else b if a == ONE else _multiplied((b, a), look.op) for a, b in pairs), base.dtype
    )


_EXPAND: Mapping[str, Single] = {
    "expand_dims": _expand_dims,
    "broadcast_to": _broadcast_to,
    "one_hot": _one_hot,
    "repeat": _repeat,
    "tile": _tile,
}


def _expand(look: Look) -> ShapeFact:
    if is_pattern(look):
        return patterned(look)
    known = _EXPAND.get(look.function)
    return NOTHING if known is None or look.has("*", "**") else known(look)


def _squeeze(look: Look) -> ShapeFact:
    base, axis = array_like(look.first()), look.raw("axis", "dimensions")
    if base.dims is None:
        return NOTHING
    if axis is None:
        certain = all(dim.constant is not None for dim in base.dims)
        return array(tuple(dim for dim in base.dims if dim != ONE) if certain else None, base.dtype)
    axes = axes_in(axis)
    places = None if axes is None else {place_of(one, base.rank) for one in axes}
    if places is None:
        return NOTHING
    if None in places or any(differ(base.dims[place], ONE) for place in places if place is not None):
        look.judge(Fit.CLASHES, f"axis {axis} of {shape_text(base.dims)} does not have size 1")
        return NOTHING
    return array(tuple(dim for i, dim in enumerate(base.dims) if i not in places), base.dtype, weak=base.weak)


def _move(look: Look) -> ShapeFact:
    base = array_like(look.first())
    if look.function in ("roll", "flip", "fliplr", "flipud", "fftshift", "ifftshift"):
        return array(base.dims, base.dtype, weak=base.weak)
    if look.function == "pad" and base.dims is not None:
        return array(_padded(look, base.dims), base.dtype)
    return NOTHING


def _padded(look: Look, dims: Dims) -> Dims:
    widths = look.fact("pad_width")
    around = as_number(widths)
    if around is not None:
        return tuple(dim + around + around for dim in dims)
    pair = shape_of(widths) if widths.items is not None and len(widths.items) == 2 else None
    if pair is not None and all(item.number is not None for item in widths.items or ()):
        return tuple(dim + pair[0] + pair[1] for dim in dims)
    if widths.items is not None and len(widths.items) == len(dims):
        pairs = [shape_of(item) for item in widths.items]
        if all(pair is not None and len(pair) == 2 for pair in pairs):
            return tuple(dim + pair[0] + pair[1] for dim, pair in zip(dims, pairs, strict=True) if pair is not None)
    return (UNKNOWN,) * len(dims)


TABLE: Mapping[str, Transfer] = {
    "array.reshape": single(_reshape),
    "array.permute": single(_permute),
    "array.expand": single(_expand),
    "array.squeeze": single(_squeeze),
    "array.move": single(_move),
}
