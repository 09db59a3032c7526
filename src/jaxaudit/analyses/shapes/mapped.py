"""Transformations that run a function for every element of an axis: what is taken off goes back on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxaudit.analyses.dims import UNKNOWN, Dim, differ, same
from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.labels import Labels, made_by
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, ShapeFact, as_number, outline_of, sequence, shown
from jaxaudit.analyses.shapes.literals import literal
from jaxaudit.analyses.shapes.outlines import changed
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.transfer.look import Look
from jaxaudit.ir import Argument, Op, Region
from jaxaudit.ir.record import replace


def without_axis(fact: ShapeFact, axis: int) -> ShapeFact:
    """Return one element of an array along an axis, or of each leaf of a tree."""
    place = place_of(axis, fact.rank)
    if (tree := _of_leaves(fact, lambda leaf: without_axis(leaf, axis))) is not None:
        return tree
    if fact.stack and axis == 0:
        return ShapeFact(layer=fact.layer, stack=fact.stack[1:])
    if fact.dims is None and fact.symbol:
        return changed(fact, lambda dims: _without(dims, axis))
    if fact.dims is None or place is None:
        return NOTHING
    return ShapeFact(fact.dims[:place] + fact.dims[place + 1 :], fact.dtype, fact.weak)


def _of_leaves(fact: ShapeFact, change: Callable[[ShapeFact], ShapeFact]) -> ShapeFact | None:
    """Return a container after a change of all that it holds; None for anything else."""
    if fact.parts is not None:
        return ShapeFact(parts=tuple(map(change, fact.parts)))
    if fact.items is not None:
        return sequence(tuple(map(change, fact.items)))
    return None if fact.each is None else replace(fact, each=change(fact.each))


def _without(dims: Dims, axis: int) -> Dims | None:
    place = place_of(axis, len(dims))
    return None if place is None else (*dims[:place], *dims[place + 1 :])


def with_axis(fact: ShapeFact, axis: int, size: Dim) -> ShapeFact:
    """Return the array of all elements, one for each index of a new axis; of a tree every leaf has that axis."""
    if (tree := _of_leaves(fact, lambda leaf: with_axis(leaf, axis, size))) is not None:
        return tree
    if fact.dims is None:
        made = changed(fact, lambda dims: _with(dims, axis, size)) if fact.outline is not None else NOTHING
        stacked = (
            ShapeFact(layer=fact.layer, stack=(size, *fact.stack)) if axis == 0 and fact.placing is None else NOTHING
        )
        return stacked if made is NOTHING else made
    place = place_of(axis, len(fact.dims) + 1)
    if place is None:
        return NOTHING
    return ShapeFact((*fact.dims[:place], size, *fact.dims[place:]), fact.dtype, fact.weak)


def _with(dims: Dims, axis: int, size: Dim) -> Dims | None:
    place = place_of(axis, len(dims) + 1)
    return None if place is None else (*dims[:place], size, *dims[place:])


def size_along(fact: ShapeFact, axis: object) -> Dim | None:
    """Return the size of an axis of an array, or of every leaf of a tree; None where it is not known."""
    if not isinstance(axis, int):
        return None
    held = fact.parts or fact.items or (() if fact.each is None else (fact.each,))
    if held:
        return next((size for leaf in held if (size := size_along(leaf, axis)) is not None), None)
    place = place_of(axis, fact.rank)
    if fact.dims is not None and place is not None:
        return fact.dims[place]
    if 0 <= axis < len(fact.stack):
        return fact.stack[axis]
    outline = outline_of(fact)
    return None if outline is None else outline.size(axis)


def resized(fact: ShapeFact, axis: int | None, size: Dim) -> ShapeFact:
    """Return an array with another size along one axis."""
    place = None if axis is None else place_of(axis, fact.rank)
    if fact.dims is None or place is None:
        return NOTHING
    return ShapeFact((*fact.dims[:place], size, *fact.dims[place + 1 :]), fact.dtype, fact.weak)


def marked(fact: ShapeFact, axis: int, labels: Labels) -> ShapeFact:
    """Return an array with labels on one of its axes."""
    place = place_of(axis, fact.rank)
    return fact if fact.dims is None or place is None else resized(fact, place, fact.dims[place].labelled(labels))


def place_of(axis: int, rank: int | None) -> int | None:
    """Return an axis counted from the front; None where there is none."""
    if rank is None or not -rank <= axis < rank:
        return None
    return axis % rank


def enter(op: Op, region: Region, read: Read[ShapeFact], turn: int) -> Sequence[ShapeFact]:
    """Take the mapped axis off each operand."""
    return [_element(read(value), axis) for value, axis in zip(op.operands, axes_of(op), strict=True)]


def _element(fact: ShapeFact, axis: object) -> ShapeFact:
    if axis is None:
        return fact
    return without_axis(fact, axis) if isinstance(axis, int) else NOTHING


def axes_of(op: Op) -> tuple[object, ...]:
    """Return the mapped axis of each operand; `?` where it is not known."""
    axes, count = op.in_axes, len(op.operands)
    return axes if axes is not None and len(axes) == count else ("?",) * count


def leave(op: Op, look: Look) -> Sequence[ShapeFact]:
    """Put the mapped axis on each result, where `out_axes` wants it."""
    _judge_sizes(op, look)
    size = mapped_size(op, look.read).labelled(made_by("vmap", op))
    results = op.regions[0].results
    out = _out_axes(op, len(results))
    facts = [look.read(value) for value in results]
    for fact, axis in zip(facts, out, strict=True):
        rank = None if fact.dims is None else len(fact.dims) + 1
        if rank is not None and isinstance(axis, int) and place_of(axis, rank) is None:
            look.judge(Fit.CLASHES, f"`out_axes` is {axis}, and with the mapped axis the rank is {rank}")
    return [_collected(fact, axis, size) for fact, axis in zip(facts, out, strict=True)]


def _judge_sizes(op: Op, look: Look) -> None:
    """Whether all mapped axes have one size."""
    sizes: list[Dim] = []
    for value, axis in zip(op.operands, axes_of(op), strict=True):
        fact = look.read(value)
        size = size_along(fact, axis)
        if size is not None and (fact.dims is not None or fact.stack or fact.parts is not None or fact.outline):
            sizes.append(size)
        elif fact.dims is not None and isinstance(axis, int) and not fact.weak:
            text = f"axis {axis} of an array with {len(fact.dims)} axes cannot be mapped"
            look.judge(Fit.CLASHES, text if fact.dims else f"`{op.name}` cannot map a number, which has no axes")
    for size in sizes[1:]:
        clash = f"axes of sizes {shown(sizes[0])} and {shown(size)} cannot be mapped together"
        look.judge(Fit.FITS if same(sizes[0], size) else Fit.CLASHES if differ(sizes[0], size) else Fit.OPEN, clash)


def _collected(fact: ShapeFact, axis: Argument, size: Dim) -> ShapeFact:
    if axis is None:
        return fact
    return with_axis(fact, axis, size) if isinstance(axis, int) else NOTHING


def _out_axes(op: Op, count: int) -> Sequence[Argument]:
    if op.out_axes is not None and len(op.out_axes) == count:
        return op.out_axes
    given = op.option("out_axes", 0)
    if isinstance(given, tuple):
        return given if len(given) == count else ("?",) * count
    return (given if isinstance(given, int) or given is None else "?",) * count


def mapped_size(op: Op, read: Read[ShapeFact]) -> Dim:
    """Return the size of the mapped axis."""
    found: Dim | None = None
    for value, axis in zip(op.operands, axes_of(op), strict=True):
        size = size_along(read(value), axis)
        if size is not None:
            found = size if found is None else found.labelled(size.labels)
    if found is not None:
        return found
    given = op.option("axis_size")
    number = None if given is None else as_number(literal(given, read))
    return UNKNOWN if number is None else number


def enter_map(op: Op, region: Region, read: Read[ShapeFact], turn: int) -> Sequence[ShapeFact]:
    """Take the first axis off each operand of `lax.map`."""
    return [without_axis(read(value), 0) for value in op.operands]


def leave_map(op: Op, look: Look) -> Sequence[ShapeFact]:
    """Put the first axis on each result of `lax.map`."""
    size = next((size for value in op.operands if (size := size_along(look.read(value), 0)) is not None), UNKNOWN)
    return [with_axis(look.read(value), 0, size) for value in op.regions[0].results]
