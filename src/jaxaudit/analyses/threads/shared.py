"""Calls of a body that several calls share: what it does to the axes of one call says nothing of those of another.

The inside belongs to the first call. For every further one the body is woven by itself, once, and what it takes for one
axis among its parameters and results is one axis among the operands and results of the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jaxaudit.analyses.threads.relation import Link, Relation, Slot, Station
from jaxaudit.ir import Op, Region
from jaxaudit.ir.record import record


class Edge(NamedTuple):
    """One axis of what a body takes or gives."""

    position: int
    """Among the parameters, and after them the results."""
    axis: int


@record
class Summary:
    """What a body does to the axes at its edge."""

    same: Sequence[tuple[int, int]]
    """Arrays of one shape that go on axis by axis, by their positions."""
    links: Sequence[tuple[Edge, Edge]]
    merges: Sequence[tuple[tuple[Edge, ...], Edge]]
    splits: Sequence[tuple[Edge, tuple[Edge, ...]]]
    stations: Sequence[tuple[Edge, Station]]
    """What happens inside to the axes at the edge."""

    def passed(self, op: Op) -> Iterator[tuple[Slot, Station]]:
        """Return what happens inside to each axis of what a call takes and gives."""
        values = (*op.operands, *op.results)
        return ((Slot(values[edge.position], edge.axis), station) for edge, station in self.stations)

    def relation(self, op: Op) -> Relation:
        """Return what a call does to the axes around it."""
        values = (*op.operands, *op.results)

        def slot(edge: Edge) -> Slot:
            return Slot(values[edge.position], edge.axis)

        return Relation(
            same=[(values[one], values[other]) for one, other in self.same],
            links=[Link(slot(one), slot(other)) for one, other in self.links],
            merges=[(tuple(map(slot, parts)), slot(whole)) for parts, whole in self.merges],
            splits=[(slot(whole), tuple(map(slot, parts))) for whole, parts in self.splits],
        )


def shared_body(op: Op) -> Region | None:
    """Return the body that an op shares with others, where operands are parameters and results are results."""
    if len(op.regions) != 1 or not op.regions[0].shared:
        return None
    region = op.regions[0]
    fits = len(region.params) == len(op.operands) and len(region.results) == len(op.results)
    return region if fits else None
