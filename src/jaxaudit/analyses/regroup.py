"""Reshapes: which axes become one, which are taken apart, and which axis is no longer what its name says.

An axis keeps its identity through a reshape when it keeps its size and what comes after it has as many elements as
before: its stride. A new axis that has an old one's name but another stride holds something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.dims import ONE, Dim, product, same, whole
from jaxaudit.analyses.labels import Label, Labels, contradiction, is_of, named, one_axis, related
from jaxaudit.analyses.pieces import Crossed, crossed, cut, run_of
from jaxaudit.ir import Op

Dims = tuple[Dim, ...]
Group = tuple[Dims, tuple[int, ...]]


def regrouped(old: Dims, new: Dims, op: Op | None = None) -> Dims:
    """Return the new axes of a reshape the labels of the old ones they are."""
    made = list(new)
    for parts, places in groups(old, new):
        if len(places) == 1 < len(parts):
            made[places[0]] = made[places[0]].labelled(run_of(parts, op))
        elif len(parts) == 1 < len(places):
            for place, labels in zip(places, cut(parts[0], [new[one] for one in places], op, places[0]), strict=True):
                made[place] = made[place].labelled(labels)
        if len(places) == 1 and len(parts) == 1 and not _is_other_axis(parts[0].labels, new[places[0]].labels):
            made[places[0]] = made[places[0]].labelled(parts[0].labels)
        elif len(places) == 1 and len(parts) > 1:
            parts = _completed(parts, new[places[0]])
            made[places[0]] = made[places[0]].labelled(product_of(parts, op))
        elif len(places) == 2 and len(parts) == 1:
            made[places[1]] = made[places[1]].labelled(picked(parts[0]))
    return tuple(made)


def product_of(parts: Dims, op: Op | None) -> Labels:
    """Return the label of an axis that was made of several, the outer ones first, where they can be told apart."""
    if not all(map(_is_known, parts)):
        return frozenset()
    return frozenset((Label("product", op=op, factors=expanded(parts)),))


def _is_other_axis(old: Labels, new: Labels) -> bool:
    """Whether what a new axis was to be says that it is not an old one, though it has its size."""
    return contradiction(old, new) is not None or any(label.kind == "block" for label in new)


def _completed(parts: Dims, whole: Dim) -> Dims:
    """Name the one axis without a name, where the sizes that were multiplied say what it is."""
    written = [label for label in whole.labels if label.kind == "multiple" and label.scope]
    missing = [label for label in written if not any(is_of(label, part.labels) for part in parts)]
    unnamed = [part for part in parts if not _is_known(part)]
    if len(written) != len(parts) or len(missing) != 1 or len(unnamed) != 1:
        return parts
    name = frozenset((Label("size", missing[0].name, missing[0].scope),))
    return tuple(part.labelled(name) if part is unnamed[0] else part for part in parts)


def picked(dim: Dim) -> Labels:
    """Return the label of an axis that holds some elements of a flat one, in whatever order."""
    flat = next((label for label in dim.labels if label.kind in ("product", "picked")), None)
    return frozenset() if flat is None else frozenset((Label("picked", op=flat.op, factors=flat.factors),))


def _is_known(dim: Dim) -> bool:
    return any(named(dim.labels)) or dim.constant is None


def expanded(dims: Sequence[Dim]) -> Dims:
    """Write out the axes that earlier reshapes made one."""
    made: list[Dim] = []
    for dim in dims:
        factors = next((label.factors for label in dim.labels if label.kind == "product"), ())
        made.extend(factors if factors and same(product(factors), dim) else (dim,))
    return tuple(made)


def groups(old: Dims, new: Dims) -> Iterator[Group]:
    """Return the shortest runs of old and new axes that have equal numbers of elements, as far as that can be told."""
    left = [dim for dim in old if dim != ONE]
    right = [place for place, dim in enumerate(new) if dim != ONE]
    while left and right:
        parts, places = [left.pop(0)], [right.pop(0)]
        while not same(before := whole(product(parts)), after := whole(product(new[place] for place in places))):
            # Which of two symbols is smaller may not be known, but the last axis holds all that is left.
            if left and (not right or _is_smaller(before, after)):
                parts.append(left.pop(0))
            elif right and not _is_smaller(before, after):
                places.append(right.pop(0))
            else:
                return
        yield tuple(parts), tuple(places)


def crossings(old: Dims, new: Dims) -> Iterator[Crossed]:
    """Return the parts of different axes that a reshape makes one: the outer one of one, the inner one of another."""
    return crossed((parts for parts, places in groups(old, new) if len(places) == 1 < len(parts)), old)


def apart(old: Dims, new: Dims) -> tuple[list[int], int] | None:
    """Return old axes that a new one is to hold a part of each, where no reshape brings these together; None for none.

    In memory the inner part of an axis follows on its outer one. So a new axis that begins where the first of the old
    ones does holds whole rows of that, whatever sizes it was computed of.
    """
    for place, dim in enumerate(new):
        for label in (one for one in dim.labels if one.kind == "block"):
            wholes = _wholes(label.factors, old)
            before = product(new[:place])
            leads = (before, before * (dim // product(label.factors)))
            if wholes and any(same(product(old[: wholes[0]]), lead) for lead in leads):
                return wholes, place
    return None


def _wholes(parts: Dims, old: Dims) -> list[int]:
    """Return which axes some numbers are parts of, each of another one; nothing where that is not known."""
    found = [_holding(part, old) for part in parts]
    every = sorted({at for places in found for at in places})
    return every if all(found) and len(every) == len(parts) else []


def _holding(part: Dim, old: Dims) -> list[int]:
    """Return the axes that a number may be a part of: the one whose size was read, else those of its name."""
    own = [label for label in part.labels if label.kind == "part"]
    for labels in ([one for one in own if not one.scope], own):
        found = [at for at, dim in enumerate(old) if any(is_of(one, dim.labels) for one in labels)]
        if found:
            return [at for at in found if not same(part, old[at])]
    return []


def is_accounted_for(old: Dims, new: Dims) -> bool:
    """Whether all axes fall into runs of old and new ones with equal numbers of elements."""
    runs = list(groups(old, new))
    counts = sum(len(parts) for parts, _ in runs), sum(len(places) for _, places in runs)
    return counts == tuple(sum(dim != ONE for dim in dims) for dims in (old, new))


def _is_smaller(first: Dim, second: Dim) -> bool:
    if first.constant is not None and second.constant is not None:
        return first.constant < second.constant
    return any((second % one).constant == 0 for one in _multiples(first))


def _multiples(dim: Dim) -> Iterator[Dim]:
    """Return a size, and what its quotients are parts of: `h // p` is smaller than `h`."""
    yield dim
    for atom in dim.atoms():
        more = whole(dim * atom.parts[1]) if atom.kind == "quotient" and atom.parts is not None else dim
        if atom not in more.atoms():
            yield from _multiples(more)


def displaced(old: Dims, new: Dims) -> tuple[Dim, Dim] | None:
    """Return an axis that a reshape moves: the old one, and the new one that has its name or symbol; None for none."""
    before, after = expanded(old), expanded(new)
    for place, dim in enumerate(after):
        twins = [at for at, other in enumerate(before) if is_one(other, dim)]
        again = [at for at, other in enumerate(after) if is_one(other, dim)]
        if len(twins) != 1 or len(again) != 1:
            continue
        strides = product(before[twins[0] + 1 :]), product(after[place + 1 :])
        # The number of elements stays, so what comes before an axis tells as much as what comes after it.
        leads = product(before[: twins[0]]), product(after[:place])
        alike = _is_named_alike(before[twins[0]], dim)
        if any(_is_other(*sizes) and (alike or _are_numbers(*sizes)) for sizes in (strides, leads)):
            return before[twins[0]], dim
    return next(_torn(before, after), None)


def _torn(old: Dims, new: Dims) -> Iterator[tuple[Dim, Dim]]:
    """Return the parts that do not lie within their axis, and the multiples that do not hold theirs."""
    for place, dim in enumerate(new):
        for label in (one for one in dim.labels if one.kind in ("part", "multiple")):
            twins = [at for at, other in enumerate(old) if is_of(label, other.labels)]
            if len(twins) != 1 or any(is_of(label, other.labels) for other in new):
                continue
            axis = old[twins[0]]
            before, after = product(old[twins[0] + 1 :]), product(new[place + 1 :])
            spans = (before, before * axis), (after, after * dim)
            inner, outer = spans if label.kind == "multiple" else spans[::-1]
            if _is_no_multiple(inner[0], outer[0]) or _is_no_multiple(outer[1], inner[1]):
                yield axis, dim


def _is_no_multiple(first: Dim, second: Dim) -> bool:
    """Whether a number of elements is surely no multiple of another."""
    if not first.known or not second.known or same(first, second):
        return False
    if first.constant is not None and second.constant is not None:
        return second.constant > 0 and first.constant % second.constant != 0
    return (second % first).constant == 0


def _is_named_alike(old: Dim, new: Dim) -> bool:
    return old.constant is None or related(old.labels, new.labels)


def _are_numbers(*dims: Dim) -> bool:
    """Whether all sizes are known: a size that is not may be one, which moves nothing."""
    return all(dim.constant is not None for dim in dims)


def _is_other(first: Dim, second: Dim) -> bool:
    """Whether two strides are different; one that is the other times an axis is, since axes have many elements."""
    if not first.known or not second.known or same(first, second):
        return False
    return _is_smaller(first, second) or _is_smaller(second, first)


def is_one(old: Dim, new: Dim) -> bool:
    """Whether two axes are one by name, or by a size that is a symbol."""
    if not same(old, new) or old == ONE:
        return False
    return related(old.labels, new.labels) or old.constant is None or one_axis(old.labels, new.labels)


def kept(old: Dims, new: Dims) -> bool:
    """Whether a reshape has axes whose names can be compared."""
    before, after = expanded(old), expanded(new)
    return any(is_one(dim, other) or _is_derived(dim, other) for dim in before for other in after)


def _is_derived(old: Dim, new: Dim) -> bool:
    return any(label.kind in ("part", "multiple") and is_of(label, old.labels) for label in new.labels)
