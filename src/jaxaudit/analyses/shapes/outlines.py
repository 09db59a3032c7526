"""Shapes of unknown rank: what they are for one rank, and which one shape gives all that are found so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from jaxaudit.analyses.dims import Atom, same
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, Outline, ShapeFact, array, integer, outline_of, sequence
from jaxaudit.ir.record import replace

MANY = 6
"""How many axes more than it must have an array gets where it has many."""


def with_rank(fact: ShapeFact, whole: Atom, rank: int, split: int) -> ShapeFact:
    """Return a fact as it is where a whole has this rank."""
    if fact.sizes is not None and fact.sizes.whole == whole:
        return sequence(tuple(map(integer, fact.sizes.for_rank(rank, split))))
    if fact.items is not None:
        return replace(fact, items=tuple(with_rank(item, whole, rank, split) for item in fact.items))
    outline = outline_of(fact) if fact.dims is None and fact.sizes is None else None
    if outline is None or outline.whole != whole:
        return fact
    return array(outline.for_rank(rank, split), fact.dtype, weak=fact.weak)


def form_of(fact: ShapeFact, whole: Atom, rank: int) -> ShapeFact:
    """Return a fact with a run of the axes of a whole for those that it has of it."""
    if fact.items is not None:
        return sequence(tuple(form_of(item, whole, rank) for item in fact.items))
    outline = None if fact.dims is None else run_in(fact.dims, whole, rank)
    return NOTHING if outline is None else array(None, fact.dtype, weak=fact.weak, outline=outline)


def run_in(dims: Dims, whole: Atom, rank: int) -> Outline | None:
    """Return the form of a shape in which the middle axes of a whole stand once, side by side."""
    axes = Outline(whole).for_rank(rank, rank // 2)
    middle = rank // 2
    places = [at for at, dim in enumerate(dims) if same(dim, axes[middle])]
    if len(places) != 1:
        return None
    low = high = places[0]
    first = last = middle
    while low and first and same(dims[low - 1], axes[first - 1]):
        low, first = low - 1, first - 1
    while high + 1 < len(dims) and last + 1 < rank and same(dims[high + 1], axes[last + 1]):
        high, last = high + 1, last + 1
    return Outline(whole, dims[:low], dims[high + 1 :], first, rank - 1 - last)


def outlines_in(fact: ShapeFact) -> Iterator[Outline]:
    """Return the shapes of unknown rank of an array, or of the items of a tuple."""
    for item in fact.items or (fact,):
        if item.outline is not None:
            yield item.outline


def agrees(form: ShapeFact, fact: ShapeFact, rank: int, split: int) -> bool:
    """Whether a form gives the very shape that was found with a certain rank."""
    if form.items is not None:
        pairs = zip(form.items, fact.items or (), strict=False)
        return len(fact.items or ()) == len(form.items) and all(agrees(a, b, rank, split) for a, b in pairs)
    if form.outline is None:
        return form is NOTHING
    if fact.dims is None or rank < form.outline.least:
        return False
    expected = form.outline.for_rank(rank, split)
    pairs = zip(expected, fact.dims, strict=False)
    return len(expected) == len(fact.dims) and all(a.terms is None or same(a, b) for a, b in pairs)


def changed(fact: ShapeFact, change: Callable[[Dims], Dims | None]) -> ShapeFact:
    """Return an array after a change of its shape, of whatever rank; a change that gives none is of something else."""
    if fact.dims is not None:
        dims = change(fact.dims)
        return NOTHING if dims is None else array(dims, fact.dtype, weak=fact.weak)
    outline = outline_of(fact)
    found = None if outline is None or outline.whole is None else _changed(outline, outline.whole, change)
    return NOTHING if found is None else array(None, fact.dtype, weak=fact.weak, outline=found)


def _changed(outline: Outline, whole: Atom, change: Callable[[Dims], Dims | None]) -> Outline | None:
    many = outline.least + MANY
    made = change(outline.for_rank(many, many // 2))
    form = None if made is None else run_in(made, whole, many)
    if form is None:
        return None
    for rank in range(outline.least, many):
        few = change(outline.for_rank(rank, rank - form.last))
        if few is not None:
            return form if agrees(array(None, outline=form), array(few), rank, rank - form.last) else None
    return None


def for_few_and_many(facts: Sequence[ShapeFact]) -> list[list[Dims]] | None:
    """Return the shapes of arrays where their rank is as low as may be, and where it is high.

    None where the axes of more than one array of unknown rank are among them.
    """
    outlines = [outline for fact in facts if (outline := outline_of(fact)) is not None]
    wholes = {outline.whole for outline in outlines}
    whole = wholes.pop() if len(wholes) == 1 else None
    if whole is None or any(fact.dims is None and outline_of(fact) is None for fact in facts):
        return None
    least = max(outline.least for outline in outlines)
    return [[with_rank(fact, whole, rank, rank // 2).dims or () for fact in facts] for rank in (least, least + MANY)]
