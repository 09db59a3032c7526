"""Arrays put together and taken apart: concatenate, stack, split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from jaxaudit.analyses.dims import ONE, UNKNOWN, ZERO, Dim, constant, product
from jaxaudit.analyses.labels import Label, size_labels
from jaxaudit.analyses.shapes.broadcast import equal, shape_text
from jaxaudit.analyses.shapes.dtypes import promote
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, ShapeFact, array, sequence, shown
from jaxaudit.analyses.shapes.literals import array_like
from jaxaudit.analyses.shapes.mapped import place_of, resized, size_along, with_axis
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.transfer.einops import is_pattern, packed, unpacked
from jaxaudit.analyses.shapes.transfer.look import Look, Transfer, single
from jaxaudit.ir.functions import SPLITS, STACKS_OF_OLD


def _join(look: Look) -> ShapeFact:
    if is_pattern(look):
        return packed(look)
    if look.function == "ravel_pytree":
        return sequence((_flat(look.first()), NOTHING))
    given = look.fact("arrays", "tup", "operands")
    if given.items is None or look.function not in STACKS_OF_OLD | {"concatenate", "stack"}:
        return _join_each(look, given)
    arrays = [array_like(item) for item in given.items]
    dtype, weak = promote(arrays) if not look.has("dtype") else (None, False)
    shapes = [fact.dims for fact in arrays]
    known = [dims for dims in shapes if dims is not None]
    if len(known) != len(shapes) or not known:
        return NOTHING
    if look.function == "stack":
        return _stack(look, known, dtype, weak)
    if look.function == "concatenate":
        return _concatenate(look, known, look.raw("axis", "dimension"), dtype)
    return _shelved(look, known, dtype)


def _flat(tree: ShapeFact) -> ShapeFact:
    """Return all leaves of a tree behind one another."""
    leaves = tree.leaves or (tree,)
    sizes = [UNKNOWN if leaf.dims is None else product(leaf.dims) for leaf in leaves]
    dtypes = {leaf.dtype for leaf in leaves}
    return array((sum(sizes, ZERO),), dtypes.pop() if len(dtypes) == 1 else None)


def _shelved(look: Look, shapes: Sequence[Dims], dtype: str | None) -> ShapeFact:
    """Put arrays beside each other as NumPy's stacks of old do: vectors become rows, columns or layers first."""
    if look.function == "hstack":
        flat = [dims or (ONE,) for dims in shapes]
        return _concatenate(look, flat, 0 if len(flat[0]) == 1 else 1, dtype)
    if look.function == "vstack":
        return _concatenate(look, [(ONE,) * (2 - len(dims)) + dims for dims in shapes], 0, dtype)
    tall = [(*dims, ONE) if len(dims) == 1 else dims for dims in shapes]
    if look.function == "column_stack" and all(len(dims) == 2 for dims in tall):
        return _concatenate(look, tall, 1, dtype)
    if look.function == "dstack" and all(len(dims) in (2, 3) for dims in shapes):
        return _concatenate(look, [(*dims, ONE) if len(dims) == 2 else dims for dims in shapes], 2, dtype)
    return NOTHING


def _join_each(look: Look, given: ShapeFact) -> ShapeFact:
    """A list of unknown length, all of whose items look alike."""
    axis = look.raw("axis")
    axis = 0 if axis is None else axis
    if given.each is None or not isinstance(axis, int):
        return NOTHING
    each = array_like(given.each)
    if look.function == "stack":
        return with_axis(each, axis, UNKNOWN if given.length is None else given.length)
    if look.function != "concatenate":
        return NOTHING
    size = size_along(each, axis)
    return resized(each, axis, UNKNOWN if given.length is None or size is None else given.length * size)


def _stack(look: Look, shapes: Sequence[Dims], dtype: str | None, weak: bool) -> ShapeFact:
    axis = look.raw("axis")
    axis = 0 if axis is None else axis
    common = _common(look, shapes, None)
    if common is None or not isinstance(axis, int):
        return NOTHING
    count = constant(len(shapes)).labelled(size_labels(look.op.target_count))
    return with_axis(array(common, dtype, weak=weak), axis, count)


def _concatenate(look: Look, shapes: Sequence[Dims], axis: object, dtype: str | None) -> ShapeFact:
    axis = 0 if axis is None else axis
    if not isinstance(axis, int):
        return NOTHING
    if all(dims == () for dims in shapes):
        look.judge(Fit.CLASHES, "arrays without axes cannot be concatenated")
        return NOTHING
    place = place_of(axis, len(shapes[0]))
    if place is None:
        look.judge(Fit.CLASHES, f"axis {axis} of {shape_text(shapes[0])}")
        return NOTHING
    common = _common(look, shapes, place)
    if common is None:
        return NOTHING
    total = constant(0)
    for dims in shapes:
        total = total + dims[place]
    if len(shapes) > 1:
        total = total.labelled(frozenset((Label("joined", op=look.op, factors=tuple(dims[place] for dims in shapes)),)))
    return array((*common[:place], total, *common[place + 1 :]), dtype)


def _side_by_side(shapes: Sequence[Dims]) -> str:
    return " and ".join(shape_text(dims) for dims in shapes[:4])


def _common(look: Look, shapes: Sequence[Dims], free: int | None) -> Dims | None:
    """Return the shape that arrays share, one axis aside."""
    if len({len(dims) for dims in shapes}) > 1:
        look.judge(Fit.CLASHES, _side_by_side(shapes))
        return None
    made: list[Dim] = []
    for i, column in enumerate(zip(*shapes, strict=True)):
        fits = [equal(column[0], dim) for dim in column[1:]] if i != free else []
        worst = Fit.CLASHES if Fit.CLASHES in fits else Fit.OPEN if Fit.OPEN in fits else Fit.FITS
        if len(shapes) > 1:
            look.judge(worst, _side_by_side(shapes) if worst is Fit.CLASHES else "")
        made.append(next((dim for dim in column if dim.constant is not None), column[0]))
    return tuple(made)


def _split(look: Look) -> ShapeFact:
    if is_pattern(look):
        return unpacked(look)
    base, axis = array_like(look.first()), look.raw("axis")
    axis = {"vsplit": 0, "hsplit": 1, "dsplit": 2}.get(look.function, 0 if axis is None else axis)
    parts = look.raw("indices_or_sections")
    if base.dims is None or not isinstance(axis, int) or look.function not in SPLITS:
        return NOTHING
    place = place_of(axis, base.rank)
    if place is None or not isinstance(parts, int) or not 0 < parts <= 64:
        return NOTHING if place is None else _split_at(base, place, parts)
    size = base.dims[place]
    left = (size % constant(parts)).constant
    equally = look.function != "array_split"
    if equally and left is not None:
        clash = f"an axis of size {shown(size)} cannot be split into {parts} equal parts"
        look.judge(Fit.CLASHES if left else Fit.FITS, clash)
    each = resized(base, place, size // constant(parts) if equally or left == 0 else UNKNOWN)
    return sequence((each,) * parts)


def _split_at(base: ShapeFact, place: int, cuts: object) -> ShapeFact:
    if not isinstance(cuts, tuple) or not all(isinstance(cut, int) for cut in cuts) or base.dims is None:
        return NOTHING
    size = base.dims[place].constant
    if size is None:
        return sequence(tuple(resized(base, place, UNKNOWN) for _ in range(len(cuts) + 1)))
    ends = [0, *(min(cut, size) for cut in cuts), size]
    return sequence(tuple(resized(base, place, constant(max(0, b - a))) for a, b in pairwise(ends)))


TABLE: Mapping[str, Transfer] = {"array.join": single(_join), "array.split": single(_split)}
