"""The names of axes through a traced program: sizes are known there, and an op hands on what its axes are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.labels import Label, Labels, made_by
from jaxaudit.analyses.shapes.facts import ShapeFact
from jaxaudit.analyses.threads.relation import Link, Relation, Slot, Types
from jaxaudit.analyses.threads.table import relation_of
from jaxaudit.ir import Op, Value
from jaxaudit.ir.record import replace

Gained = dict[Slot, Labels]


class Carrier:
    """Hands the labels of axes on, op by op."""

    def __init__(self, types: Types) -> None:
        """Start with the exact types of a program."""
        self.types = types

    def onto(
        self, op: Op, values: Sequence[Value], facts: Sequence[ShapeFact], read: Read[ShapeFact]
    ) -> list[ShapeFact]:
        """Return the facts of what an op makes, or of a region's parameters, with the labels that come along."""
        gained = self._gained(relation_of(op, self.types), frozenset(values), read)
        return [self._labelled(value, fact, gained) for value, fact in zip(values, facts, strict=True)]

    def _gained(self, relation: Relation, wanted: frozenset[Value], read: Read[ShapeFact]) -> Gained:
        gained: Gained = {}
        for before, after in (*relation.links, *_axis_by_axis(relation, wanted, self.types)):
            if after.value in wanted and before.value not in wanted:
                labels = _dim(before, read).labels
                if labels and self._size(before) == self._size(after):
                    gained[after] = gained.get(after, frozenset()) | labels
        for parts, whole in relation.merges:
            factors = tuple(_dim(part, read) for part in parts)
            if whole.value in wanted and any(factor.labels for factor in factors):
                gained[whole] = frozenset((Label("product", factors=factors),))
        for whole, parts in relation.splits:
            for part, factor in zip(parts, self._factors(whole, parts, read), strict=False):
                gained[part] = factor.labels
        return gained

    def _factors(self, whole: Slot, parts: Sequence[Slot], read: Read[ShapeFact]) -> Sequence[Dim]:
        """Return the axes that an axis was made of, where it is taken apart in just that way."""
        labels = _dim(whole, read).labels
        known = next((label.factors for label in labels if label.kind == "product"), ())
        fits = [dim.constant for dim in known] == [self._size(part) for part in parts]
        return known if fits else ()

    def _size(self, slot: Slot) -> int:
        return self.types[slot.value].shape[slot.axis]

    def _labelled(self, value: Value, fact: ShapeFact, gained: Gained) -> ShapeFact:
        if fact.dims is None or not gained:
            return fact
        own = [gained.get(Slot(value, axis), frozenset()) for axis in range(len(fact.dims))]
        if not any(own):
            return fact
        return replace(fact, dims=tuple(dim.labelled(more) for dim, more in zip(fact.dims, own, strict=True)))


def taken_off(op: Op, facts: Sequence[ShapeFact]) -> Sequence[ShapeFact]:
    """Mark the axes that a map takes off what goes into its region: in a trace arrays have them still."""
    places = op.mapped_in
    if places is None or len(places) != len(facts):
        return facts
    mark = made_by("taken", op)
    return [
        _marked(fact, place, mark) if isinstance(place, int) else fact
        for fact, place in zip(facts, places, strict=True)
    ]


def given_back(op: Op, facts: Sequence[ShapeFact]) -> list[ShapeFact]:
    """Take the marks of a map off what comes out of it."""
    mark = made_by("taken", op)
    return [fact if op.mapped_in is None or fact.dims is None else _without(fact, mark) for fact in facts]


def _marked(fact: ShapeFact, place: int, mark: Labels) -> ShapeFact:
    if fact.dims is None or place >= len(fact.dims):
        return fact
    dims = (dim.labelled(mark) if at == place else dim for at, dim in enumerate(fact.dims))
    return replace(fact, dims=tuple(dims))


def _without(fact: ShapeFact, mark: Labels) -> ShapeFact:
    dims = (
        replace(dim, labels=dim.labels - mark) if not dim.labels.isdisjoint(mark) else dim for dim in fact.dims or ()
    )
    return replace(fact, dims=tuple(dims))


def _axis_by_axis(relation: Relation, wanted: frozenset[Value], types: Types) -> Iterator[Link]:
    """Return the links of arrays of one shape that go on as they are."""
    for before, after in relation.same:
        if after in wanted:
            yield from (Link(Slot(before, axis), Slot(after, axis)) for axis in range(len(types[after].shape)))


def _dim(slot: Slot, read: Read[ShapeFact]) -> Dim:
    dims = read(slot.value).dims
    return dims[slot.axis] if dims is not None and slot.axis < len(dims) else Dim(None)
