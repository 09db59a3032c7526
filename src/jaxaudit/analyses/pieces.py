"""Axes that a reshape takes apart and others put together again: which part of which axis each one is.

`(h, w)` cut into patches is `(h / p, p, w / p, p)`: the outer and the inner part of each axis, whatever their sizes. A
part is known by the reshape that cut it. Transposes move it, a further reshape may make one axis of several, and one
that takes this apart by the same sizes gives the parts back. Where an outer part is put together with the inner part of
another axis, the pixels of each patch change places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from jaxaudit.analyses.dims import ONE, Dim, same
from jaxaudit.analyses.labels import Label, Labels
from jaxaudit.ir import Op
from jaxaudit.ir.record import record
from jaxaudit.spans import Span

RESTORED = "restored"
"""Where a part is known again after it was a piece of a longer axis."""


@record
class Crossed:
    """Two parts of different axes that a reshape makes one."""

    outer: Label
    inner: Label

    @property
    def is_restored(self) -> bool:
        """Whether both were pieces of a longer axis since they were cut, so that somebody takes apart what he made."""
        return RESTORED in (self.outer.where, self.inner.where)


def run_of(parts: Sequence[Dim], op: Op | None) -> Labels:
    """Return the label of an axis that is made of several, one inside of the other."""
    return frozenset((Label("run", op=op, factors=_written_out(parts)),))


def _written_out(parts: Sequence[Dim]) -> tuple[Dim, ...]:
    made: list[Dim] = []
    for dim in parts:
        runs = [label.factors for label in dim.labels if label.kind == "run"]
        made.extend(runs[0] if runs else (dim,))
    return tuple(made)


def cut(whole: Dim, sizes: Sequence[Dim], op: Op | None, at: int) -> tuple[Labels, ...]:
    """Return the labels of the parts that an axis is cut into: those it was made of, or new ones."""
    for label in whole.labels:
        factors = [dim for dim in label.factors if dim != ONE] if label.kind == "run" else []
        if len(factors) == len(sizes) and all(map(same, factors, sizes)):
            return tuple(_again(dim.labels) for dim in factors)
    return tuple(frozenset((Label("cut", str(i), str(at), op, factors=(whole.plain(),)),)) for i in range(len(sizes)))


def _again(labels: Labels) -> Labels:
    return frozenset(
        Label("cut", one.name, one.scope, one.op, RESTORED, one.factors) for one in labels if one.kind == "cut"
    )


def crossed(runs: Iterator[Sequence[Dim]], every: Sequence[Dim]) -> Iterator[Crossed]:
    """Return the outer parts that are made one with the inner part of another axis, though their own is there too."""
    own = [label for dim in _written_out(every) for label in dim.labels if label.kind == "cut"]
    for run in runs:
        parts = _written_out(run)
        for first, second in pairwise(parts):
            for outer in _cuts(first):
                for inner in _cuts(second):
                    mine = any(_whole(one) == _whole(outer) and one.name == "1" for one in own)
                    theirs = any(_whole(one) == _whole(inner) and one.name == "0" for one in own)
                    apart = _whole(outer) != _whole(inner) and (outer.name, inner.name) == ("0", "1")
                    if apart and mine and theirs:
                        yield Crossed(outer, inner)


def astray(old: Sequence[Dim], new: Sequence[Dim]) -> Label | None:
    """Return a part that comes out at another place than it stands, though all parts of two axes are taken apart.

    The sizes that are asked for are those of the parts in the order in which they were cut, and not in which they
    stand. Where all parts are of equal size, names tell: two of them have changed theirs.
    """
    before, after = _written_out([dim for dim in old if dim != ONE]), [dim for dim in new if dim != ONE]
    before = tuple(dim for dim in before if dim != ONE)
    cuts = {at: found[0] for at, dim in enumerate(before) if (found := _cuts(dim))}
    if len(before) != len(after) or len({_whole(one) for one in cuts.values()}) < 2:
        return None
    places = sorted(cuts)
    order = sorted(places, key=lambda at: (int(cuts[at].scope), cuts[at].name))
    again = dict(zip(places, order, strict=True))
    moved = next((at for at in places if again[at] != at), None)
    if moved is None or len({(*_whole(one), one.name) for one in cuts.values()}) < len(cuts):
        return None
    if not all(map(same, before, after)):
        as_cut = all(same(before[again.get(at, at)], dim) for at, dim in enumerate(after))
        return cuts[moved] if as_cut else None
    pairs = ((first, second) for first in places for second in places if first < second)
    return next((cuts[first] for first, second in pairs if _exchanged(before, after, first, second)), None)


def _exchanged(before: Sequence[Dim], after: Sequence[Dim], first: int, second: int) -> bool:
    """Whether two axes have each the name that the other one had."""
    crossed = _is_named(before[first], after[second]) and _is_named(before[second], after[first])
    return crossed and not any(_is_named(before[at], after[at]) for at in (first, second))


def _is_named(old: Dim, new: Dim) -> bool:
    """Whether two axes have a name in common, or are parts of one that has."""
    names = [{(one.kind, one.name, one.scope) for one in dim.labels if one.kind in _NAMES} for dim in (old, new)]
    return not names[0].isdisjoint(names[1])


_NAMES = ("size", "part")


def reordered(dim: Dim) -> tuple[Label, Label] | None:
    """Return what put all parts of one axis together in another order than they were cut, and what had cut them."""
    for run in (label for label in dim.labels if label.kind == "run" and label.op is not None):
        parts = [_cuts(one) for one in run.factors if one != ONE]
        if len(parts) < 2 or not all(parts):
            continue
        order, wholes = [cuts[0].name for cuts in parts], {_whole(cuts[0]) for cuts in parts}
        if len(wholes) == 1 and order != sorted(order) and len({*order}) == len(order):
            return run, parts[0][0]
    return None


def _cuts(dim: Dim) -> list[Label]:
    found = [label for label in dim.labels if label.kind == "cut"]
    return found if len({_whole(label) for label in found}) == 1 else []


def _whole(label: Label) -> tuple[Span | None, str]:
    """Return what tells an axis that was cut from others; one line cuts the same in all calls of its function."""
    return None if label.op is None else label.op.span, label.scope
