"""Stretches of an array that start at what is counted: `dynamic_slice_in_dim(x, i * size, size)`, `x[i : i + size]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.extents import Extent, extents, met, size_of
from jaxaudit.analyses.extents.look import look_at
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts

Window = tuple[Argument, Argument]
"""Where a stretch starts, and how long it is."""


@record
class Windows:
    """All stretches that one op takes of an axis, one after another."""

    op: Op
    array: Value
    starts: Extent
    width: Dim
    size: Dim

    @property
    def count(self) -> Dim:
        """How many there would be if each started one further than the one before."""
        return self.starts.end - self.starts.low

    @property
    def fit(self) -> bool:
        """Whether the stretches would fill the axis if they did not overlap, and there are some of each."""
        gap = (self.count * self.width - self.size).constant
        return gap == 0 and self.width.constant != 1 and self.starts.low.constant == 0

    @property
    def filled(self) -> bool:
        """Whether the last stretch ends where the axis does."""
        return (self.size - self.starts.last - self.width).constant == 0


def windows(facts: Facts) -> Iterator[Windows]:
    """Return the stretches that are taken at what is counted, of axes of known sizes."""
    for op in facts.program.named("py.item", "array.gather"):
        for axis, (start, width) in _windows(op, facts):
            array = op.value("base", "operand")
            starts = extents(facts)(start) if isinstance(start, Value) else None
            size = None if array is None else size_of(met(facts.get(Shapes), op, array), axis)
            length = look_at(facts).number(width)
            if array is None or starts is None or size is None or length is None or starts.each or starts.part:
                continue
            if starts.reached and not starts.further and not starts.bottomless and starts.single is None:
                yield Windows(op, array, starts, length, size)


def _windows(op: Op, facts: Facts) -> Iterator[tuple[int, Window]]:
    """Return the axes along which an op takes a stretch, and which."""
    if op.function == "dynamic_slice_in_dim":
        axis = op.arguments.get("axis", 0)
        if isinstance(axis, int):
            yield axis, (op.arguments.get("start_index"), op.arguments.get("slice_size"))
    elif op.function == "dynamic_slice":
        starts, sizes = op.arguments.get("start_indices"), op.arguments.get("slice_sizes")
        if isinstance(starts, tuple) and isinstance(sizes, tuple):
            yield from enumerate(zip(starts, sizes, strict=False))
    elif op.name == "py.item":
        for axis, part in enumerate(index_parts(op.arguments.get("index"))):
            if not isinstance(part, Mapping):
                return
            start, stop = part.get("start"), part.get("stop")
            added = facts.flow.maker(stop) if isinstance(stop, Value) else None
            if added is not None and added.function == "add" and part.get("step") in (None, 1):
                one, other = added.arguments.get("x"), added.arguments.get("y")
                yield from ((axis, (start, rest)) for base, rest in ((one, other), (other, one)) if base is start)
