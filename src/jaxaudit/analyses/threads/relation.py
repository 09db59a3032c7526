"""What one op of a traced program does to axes: which stay what they are, and what happens to the others.

Shapes are exact and physical here: under `vmap` an array still has the mapped axis, so an axis is a value and a place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from jaxaudit.ir import Argument, ArrayType, Op, Value
from jaxaudit.ir.record import mutable

Types = Mapping[Value, ArrayType]
Shape = tuple[int, ...]


class Slot(NamedTuple):
    """One axis of one value."""

    value: Value
    axis: int


class Link(NamedTuple):
    """Two slots that are one axis."""

    before: Slot
    after: Slot


class Deed(NamedTuple):
    """Something that happens to an axis in an op."""

    kind: str
    slot: Slot


class Station(NamedTuple):
    """One thing that happens to an axis."""

    kind: str
    """`enters`, `made`, `vmapped`, `collected`, `scanned`, `stacked`, `merged`, `split`, `reshaped`, `reduced`,
    `projected`, `broadcast`, `joined`, `cut`, `sliced`, `extended`, `indexed`, `sharded`, `returned`."""
    slot: Slot
    op: Op | None = None
    """The op in which it happens; none where the program begins and ends."""


@mutable
class Relation:
    """All that an op does to axes."""

    links: list[Link] = field(default_factory=list)
    same: list[tuple[Value, Value]] = field(default_factory=list)
    """Arrays of one shape that go on axis by axis."""
    deeds: list[Deed] = field(default_factory=list)
    merges: list[tuple[tuple[Slot, ...], Slot]] = field(default_factory=list)
    """Axes that a reshape makes one."""
    splits: list[tuple[Slot, tuple[Slot, ...]]] = field(default_factory=list)
    """An axis that a reshape takes apart."""

    def link(self, before: Value, at: int, after: Value, to: int) -> None:
        """Note that an axis goes on as another."""
        self.links.append(Link(Slot(before, at), Slot(after, to)))

    def deed(self, kind: str, value: Value, axis: int) -> None:
        """Return what happens to an axis."""
        self.deeds.append(Deed(kind, Slot(value, axis)))


class Seen(NamedTuple):
    """An op with the exact shapes of what it takes and makes."""

    op: Op
    types: Types

    def shape(self, value: object) -> Shape:
        """Return the shape of a value; scalars and what is unknown have none."""
        found = self.types.get(value) if isinstance(value, Value) else None
        return found.shape if found is not None else ()

    def given(self, *names: str) -> Value | None:
        """Return the first argument of some names that is a value."""
        for name in names:
            found = self.op.arguments.get(name)
            if isinstance(found, Value):
                return found
        return None

    def axes(self, name: str = "axis") -> tuple[int, ...]:
        """Return the axes in an argument, whether one or several."""
        return numbers(self.op.arguments.get(name))

    def arrays(self) -> Iterator[Value]:
        """Return every operand once, in order."""
        return iter(dict.fromkeys(self.op.operands))


def numbers(given: Argument) -> tuple[int, ...]:
    """Return plain numbers from one number or several."""
    if isinstance(given, int) and not isinstance(given, bool):
        return (given,)
    return tuple(one for one in given if isinstance(one, int)) if isinstance(given, tuple) else ()


def same_shape(relation: Relation, seen: Seen, before: Value, after: Value) -> None:
    """Link two arrays of one shape axis by axis."""
    if seen.shape(before) == seen.shape(after):
        relation.same.append((before, after))


def in_order(relation: Relation, seen: Seen, before: Value, after: Value, dropped: Sequence[int]) -> None:
    """Link the axes of an array that loses some to those of what is left, in order."""
    rank = len(seen.shape(before))
    kept = [axis for axis in range(rank) if axis not in {one % rank for one in dropped}] if rank else []
    if len(kept) == len(seen.shape(after)):
        for place, axis in enumerate(kept):
            near(relation, seen, (before, axis), (after, place))


def near(relation: Relation, seen: Seen, before: tuple[Value, int], after: tuple[Value, int]) -> None:
    """Link two axes where one is most of the other: `x[1:]` is the same axis, half of the channels is not."""
    first, second = seen.shape(before[0])[before[1]], seen.shape(after[0])[after[1]]
    if first == second:
        relation.link(*before, *after)
    elif 2 * min(first, second) > max(first, second) and min(first, second) > 1:
        relation.link(*before, *after)
        relation.deed("sliced" if second < first else "extended", *after)
