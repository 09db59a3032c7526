"""How values look to the code around them: under `vmap` an array of a traced program still has the mapped axes.

A value has the mapped axis when it is made of what is mapped, or of nothing from outside. Which of its axes that is,
the threads tell. Where one array is both mapped and shared (`vmap(f, (0, None))(xs, xs)`) the first such axis is the
mapped one, since JAX puts it first when it puts two shapes together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from jaxaudit.ir import ArrayType, Op, Program, Region, Value

Places = Mapping[Value, tuple[int, ...]]
"""For values under a `vmap`: which of their axes the code there does not see."""


Names = Callable[[Value], tuple[str, ...]]
"""Gives the ids of a value's axes; empty for axes of size one."""


def mapped_axes(program: Program, names: Names) -> Places:
    """Find the mapped axes of all values of a traced program."""
    gone: dict[Value, tuple[int, ...]] = {}
    for op in program.walk():
        if op.name == "pmap":
            # JAX makes it of a map over blocks, each with one element of the mapped axis.
            edge = (*op.regions[-1].params, *op.regions[-1].results)
            gone.update((value, (0,)) for value in edge if _is_block(program.types.get(value)))
        if op.name == "vmap" and op.regions[-1].params:
            for value, place in _Map(op, names, program.types).found(gone):
                gone[value] = (*gone.get(value, ()), place)
    return gone


def _is_block(kind: ArrayType | None) -> bool:
    return kind is not None and kind.shape[:1] == (1,)


class _Map:
    """One `vmap`: what goes in mapped, and what goes in whole."""

    def __init__(self, op: Op, names: Names, types: Mapping[Value, ArrayType]) -> None:
        self.region, self.names, self.types = op.regions[-1], names, types
        places = op.mapped_in
        known = places if isinstance(places, tuple) else ()
        self.places = {
            param: place for param, place in zip(self.region.params, known, strict=False) if isinstance(place, int)
        }
        own = [names(param)[place : place + 1] for param, place in self.places.items()]
        self.threads = {one for ids in own for one in ids if one}
        self.single = op.axis_size == 1

    def found(self, gone: Places) -> Iterator[tuple[Value, int]]:
        """Return the values under the map with the place of its axis."""
        yield from self.places.items()
        if not self.places:
            return
        mapped = _reached(self.region, self.places)
        whole = [param for param in self.region.params if param not in self.places and self._has(param)]
        shared = _reached(self.region, [*whole, *self._captured()])
        for value in dict.fromkeys(_made(self.region)):
            if value in mapped or (value not in shared and not self.single):
                place = self._place(value, gone.get(value, ()))
                if place is not None:
                    yield value, place

    def _has(self, value: Value) -> bool:
        return not self.threads.isdisjoint(self.names(value))

    def _place(self, value: Value, before: tuple[int, ...]) -> int | None:
        """Return the first axis that is the mapped one; an axis of size one has no thread and is told by its size."""
        kind = self.types.get(value)
        if self.single:
            free = (place for place, size in enumerate(kind.shape if kind else ()) if size == 1)
        else:
            free = (place for place, one in enumerate(self.names(value)) if one in self.threads)
        return next((place for place in free if place not in before), None)

    def _captured(self) -> set[Value]:
        """Return what is read from around the map and has the axis as well."""
        own = {*self.region.params, *_made(self.region)}
        read = chain(self.region.results, *(op.operands for op in self.region.walk()))
        return {value for value in read if value not in own and self._has(value)}


def _made(region: Region) -> Iterator[Value]:
    for op in region.walk():
        for inner in op.regions:
            yield from inner.params
        yield from op.results


def _reached(region: Region, values: Iterable[Value]) -> set[Value]:
    """Return all values that are made of some values."""
    reached = set(values)
    _spread(region, reached, set())
    return reached


def _spread(region: Region, reached: set[Value], done: set[object]) -> None:
    if region.shared:
        # Calls that share a body and are given alike need one look.
        state = (id(region), tuple(param in reached for param in region.params))
        if state in done:
            return
        done.add(state)
    for op in region.ops:
        if not op.regions:
            if not reached.isdisjoint(op.operands):
                reached.update(op.results)
            continue
        for inner in op.regions:
            reached.update(param for param, given in _handed(op, inner) if given in reached)
            _spread(inner, reached, done)
            if op.name in _CARRIES:
                # What comes out of one turn goes into the next.
                again = [param for param, out in _turned(op, inner) if out in reached and param not in reached]
                if again:
                    reached.update(again)
                    _spread(inner, reached, done)
            if len(inner.results) == len(op.results):
                reached.update(made for made, out in zip(op.results, inner.results, strict=True) if out in reached)
            elif not reached.isdisjoint(inner.results):
                reached.update(op.results)


_CARRIES = ("scan", "while", "fori")
_SKIPS = {"cond": (1, 0), "fori": (2, 1)}
"""How many operands and parameters of an op have no partner on the other side."""


def _handed(op: Op, region: Region) -> Iterator[tuple[Value, Value]]:
    operands, params = _SKIPS.get(op.name, (0, 0))
    yield from zip(region.params[params:], op.operands[operands:], strict=False)


def _turned(op: Op, region: Region) -> Iterator[tuple[Value, Value]]:
    carried = op.carry
    count = carried if isinstance(carried, int) else len(region.results)
    first = 1 if op.name == "fori" else 0
    yield from zip(region.params[first : first + count], region.results, strict=False)
