"""Indexing: `x[...]` with integers, slices, new axes and arrays, and the functions that gather and scatter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from jaxaudit.analyses.dims import ONE, UNKNOWN, ZERO, Dim, between_bounds, constant, same
from jaxaudit.analyses.labels import length_labels, of_a_part, shortened
from jaxaudit.analyses.regroup import picked
from jaxaudit.analyses.shapes.broadcast import broadcast
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, ShapeFact, array, as_number
from jaxaudit.analyses.shapes.literals import array_dims, is_slice, shape_of
from jaxaudit.analyses.shapes.mapped import place_of, resized, without_axis
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.subscripts import piece
from jaxaudit.analyses.shapes.transfer.look import Look, Transfer, single
from jaxaudit.ir import Argument, Value
from jaxaudit.ir.record import mutable
from jaxaudit.ir.values import index_parts

ELLIPSIS = "..."


def index_array(base: ShapeFact, index: Argument, look: Look) -> ShapeFact:
    """Return `base[index]` of an array."""
    if base.weak and not base.dims and index != ELLIPSIS:
        # A number of Python's: whoever indexes it has asked what it is before.
        return NOTHING
    dims = indexed(base.dims or (), index, look)
    return array(dims, base.dtype, weak=base.weak)


def indexed(dims: Dims, index: Argument, look: Look) -> Dims | None:
    """Return the shape of an array after indexing; None where the index is not understood."""
    if isinstance(index, Value) and (look.read(index).items is not None or look.read(index).each is not None):
        return None
    parts = _without_ellipsis(index_parts(index), len(dims), look)
    if parts is None:
        return None
    walk = _Walk(look, list(dims))
    for part in parts:
        if not walk.take(part):
            return None
    return walk.finish()


def _without_ellipsis(parts: Sequence[Argument], rank: int, look: Look) -> list[Argument] | None:
    """Write out an ellipsis as whole slices."""
    taken = 0
    for part in parts:
        width = axes_taken(part, look)
        if width is None:
            return None
        taken += width
    if taken > rank:
        look.judge(Fit.CLASHES, f"{taken} indices for an array with {rank} axes")
        return None
    at = next((i for i, part in enumerate(parts) if part == ELLIPSIS and isinstance(part, str)), None)
    if at is None:
        return list(parts)
    whole: Argument = {"start": None, "stop": None, "step": None}
    return [*parts[:at], *([whole] * (rank - taken)), *parts[at + 1 :]]


def axes_taken(part: Argument, look: Look) -> int | None:
    """Return how many axes one part of an index uses up; None where that depends on what it is."""
    if part is None or part == ELLIPSIS:
        return 0
    if isinstance(part, bool) or (isinstance(part, str) and part != ELLIPSIS):
        return None
    if isinstance(part, int) or is_slice(part):
        return 1
    fact = look.of(part)
    if fact.items is not None:
        return 1 if array_dims(fact) is not None else None
    if fact.dims is None or fact.dtype is None:
        return None
    return (fact.rank or None) if fact.dtype == "bool" else 1


@mutable
class _Walk:
    """The axes of an array, taken one after the other by the parts of an index."""

    look: Look
    left: list[Dim]
    made: list[Dim] = field(default_factory=list)
    arrays: list[Dims] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    """Where among the made axes each array index stood."""
    last: int = -1
    apart: bool = False
    count: int = 0

    def take(self, part: Argument) -> bool:
        """Use one part of the index; False where it is not understood."""
        self.count += 1
        if part is None:
            self.made.append(ONE)
            return True
        if not self.left:
            return False
        size = self.left.pop(0)
        if is_slice(part) and isinstance(part, Mapping):
            self.made.append(sliced(size, part, self.look).labelled(of_a_part(size.labels)))
            return True
        return self._array(part, size)

    def _array(self, part: Argument, size: Dim) -> bool:
        fact = self.look.of(part)
        dims = array_dims(fact)
        if dims is None or (fact.dtype == "bool" and dims):
            return False
        if fact.number is not None or not dims:
            # An integer, traced or not, takes the axis away, unless an array index stands beside it.
            dims = ()
        self.apart = self.apart or (bool(self.places) and self.last != self.count - 1)
        self.last = self.count
        self.places.append(len(self.made))
        self.arrays.append(tuple(dim.labelled(picked(size)) for dim in dims))
        return True

    def finish(self) -> Dims | None:
        """Put the axes of the array indices in their place."""
        rest = (*self.made, *self.left)
        if not any(self.arrays):
            return rest
        together, fit = broadcast(self.arrays)
        if fit is Fit.CLASHES:
            self.look.judge(fit, "index arrays of different shapes")
        if together is None:
            return None
        place = 0 if self.apart else self.places[0]
        return (*rest[:place], *together, *rest[place:])


def sliced(size: Dim, part: Mapping[str, Argument], look: Look) -> Dim:
    """Return the size of an axis after a slice."""
    step = part.get("step")
    if step not in (None, 1, -1):
        return _stepped(size, part)
    start, stop = part.get("start"), part.get("stop")
    if start is None and stop is None:
        return size
    if step == -1:
        return UNKNOWN
    first, last = _bound(start, ZERO, size, look), _bound(stop, size, size, look)
    if first is None or last is None:
        return UNKNOWN
    if size.constant is not None and first.constant is not None and last.constant is not None:
        cut = constant(len(range(size.constant)[first.constant : last.constant]))
        labels = last.labels if same(cut, last) and first == ZERO else length_labels(first, last)
        return cut.labelled(labels | shortened(size, cut))
    between = _length_between(first, last, size).labelled(length_labels(first, last))
    cut = between if between.known else piece(look.op, first, last, size)
    return cut if cut.known or not size.known else between_bounds(first, last, size).labelled(cut.labels)


def _stepped(size: Dim, part: Mapping[str, Argument]) -> Dim:
    bounds = [part.get(name) for name in ("start", "stop", "step")]
    plain = all(bound is None or isinstance(bound, int) for bound in bounds) and bounds[2] != 0
    if size.constant is None or not plain:
        return UNKNOWN
    return constant(len(range(size.constant)[slice(*bounds)]))  # type: ignore[misc]


def _bound(given: Argument, missing: Dim, size: Dim, look: Look) -> Dim | None:
    if given is None:
        return missing
    number = as_number(look.of(given))
    if number is None or not number.known:
        return None
    if number.constant is not None and number.constant < 0:
        return size + number
    return number


def _length_between(first: Dim, last: Dim, size: Dim) -> Dim:
    """Return `last - first` where the slice surely lies within the axis."""
    gap = last - first
    if same(first, ZERO) and (same(last, size) or _within(last, size)):
        return last
    if same(last, size) and (first.constant is not None or _within(first, size)):
        return gap if gap.constant is None or gap.constant >= 0 else UNKNOWN
    return gap if _within(last, size) and (first.constant is not None or _within(first, last)) else UNKNOWN


def _within(bound: Dim, size: Dim) -> bool:
    """Whether a bound is the size less a constant, so that it falls inside for every large enough array."""
    gap = (size - bound).constant
    return gap is not None and gap >= 0


def _take(look: Look) -> ShapeFact:
    base, axis = look.first(), look.raw("axis")
    index = array_dims(look.fact("indices"))
    if base.dims is None or index is None:
        return NOTHING
    if axis is None:
        return array(index, base.dtype)
    place = place_of(axis, base.rank) if isinstance(axis, int) else None
    if place is None:
        return NOTHING
    index = tuple(dim.labelled(picked(base.dims[place])) for dim in index)
    return array((*base.dims[:place], *index, *base.dims[place + 1 :]), base.dtype)


def _take_along(look: Look) -> ShapeFact:
    base, index, axis = look.first(), look.fact("indices"), look.raw("axis")
    if base.dims is None or index.dims is None or not isinstance(axis, int) or base.rank != index.rank:
        return NOTHING
    place = place_of(axis, base.rank)
    if place is None:
        return NOTHING
    others = [tuple(ONE if i == place else dim for i, dim in enumerate(dims)) for dims in (base.dims, index.dims)]
    together, fit = broadcast(others)
    look.judge(fit, "the indices and the array differ along another axis")
    if together is None:
        return NOTHING
    return array((*together[:place], index.dims[place], *together[place + 1 :]), base.dtype)


def _index_in_dim(look: Look) -> ShapeFact:
    base, axis = look.first(), look.raw("axis")
    axis = axis if isinstance(axis, int) else 0
    kept = look.raw("keepdims") is not False
    return resized(base, axis, ONE) if kept else without_axis(base, axis)


def _slice_in_dim(look: Look) -> ShapeFact:
    base, axis = look.first(), look.raw("axis")
    size = as_number(look.fact("slice_size"))
    if look.function == "slice_in_dim":
        first, last = as_number(look.fact("start_index")), as_number(look.fact("limit_index"))
        plain = look.raw("stride") in (None, 1) and first is not None and last is not None
        size = last - first if plain and first is not None and last is not None else None
    return resized(base, axis if isinstance(axis, int) else 0, UNKNOWN if size is None else size)


def _dynamic_slice(look: Look) -> ShapeFact:
    return array(shape_of(look.fact("slice_sizes")), look.first().dtype)


def _indexed_at(look: Look) -> ShapeFact:
    base = look.fact("base")
    return index_array(base, look.raw("index"), look) if base.dims is not None else NOTHING


_GATHERS = {
    "take": _take,
    "take_along_axis": _take_along,
    "dynamic_index_in_dim": _index_in_dim,
    "index_in_dim": _index_in_dim,
    "dynamic_slice_in_dim": _slice_in_dim,
    "slice_in_dim": _slice_in_dim,
    "dynamic_slice": _dynamic_slice,
    "get": _indexed_at,
}


def _gather(look: Look) -> ShapeFact:
    known = _GATHERS.get(look.function)
    return known(look) if known is not None else NOTHING


def _scatter(look: Look) -> ShapeFact:
    """An update keeps the shape of its base; what is written must fit where it goes."""
    base = look.fact("base", "operand", "a", "arr")
    if base.dims is not None and look.has("index") and look.function != "apply":
        room = indexed(base.dims, look.raw("index"), look)
        given = array_dims(look.fact("value"))
        if room is not None and given is not None:
            _fits_in(room, given, look)
    return base


def _fits_in(room: Dims, given: Dims, look: Look) -> None:
    together, fit = broadcast((room, given))
    if together is not None and len(together) > len(room) and any(dim != ONE for dim in together[: -len(room) or None]):
        fit = Fit.CLASHES
    look.judge(fit, "what is written does not fit where it goes")


TABLE: Mapping[str, Transfer] = {"array.gather": single(_gather), "array.scatter": single(_scatter)}
