"""How the sections about data see a program: which roots, the type of each value and the names of its axes.

Under `vmap` an array of a traced program still has the mapped axes; the code around it does not see them. A value has
the mapped axis when it is made of what is mapped, or of nothing from outside. Which of its axes that is, the threads
tell. Where one array is both mapped and shared (`vmap(f, (0, None))(xs, xs)`) the first such axis is the mapped one,
since JAX puts it first when it puts two shapes together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain

from jaxaudit.analyses.axes import Axes
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.meaning import meanings_of
from jaxaudit.analyses.ranges import Range, Ranges, range_text
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import ArrayType, Op, Program, Region, Root, Value
from jaxaudit.ir.ops import CARRYING
from jaxaudit.ir.record import record
from jaxaudit.reports.fact_coverage import reasons
from jaxaudit.reports.stack import TRANSFORMS
from jaxaudit.reports.types_text import Shown, Types, axis_id, exact_types, inferred_types

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
        self.places = {
            param: place
            for param, place in zip(self.region.params, op.mapped_in or (), strict=False)
            if isinstance(place, int)
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
            if op.name in CARRYING:
                # What comes out of one turn goes into the next.
                again = [param for param, out in _turned(op, inner) if out in reached and param not in reached]
                if again:
                    reached.update(again)
                    _spread(inner, reached, done)
            if len(inner.results) == len(op.results):
                reached.update(made for made, out in zip(op.results, inner.results, strict=True) if out in reached)
            elif not reached.isdisjoint(inner.results):
                reached.update(op.results)


_SKIPS = {"cond": (1, 0), "fori": (2, 1)}
"""How many operands and parameters of an op have no partner on the other side."""


def _handed(op: Op, region: Region) -> Iterator[tuple[Value, Value]]:
    operands, params = _SKIPS.get(op.name, (0, 0))
    yield from zip(region.params[params:], op.operands[operands:], strict=False)


def _turned(op: Op, region: Region) -> Iterator[tuple[Value, Value]]:
    count = len(region.results) if op.carry is None else op.carry
    first = 1 if op.name == "fori" else 0
    yield from zip(region.params[first : first + count], region.results, strict=False)


Words = Callable[[Value], str]
"""Gives the range of a value in words; empty where nothing is known of it."""


_MOST_FROM_SOURCE = 10_000
"""A whole project has millions of steps, which nobody reads; a program that somebody works on has hundreds."""


@record
class View:
    """What the sections read."""

    roots: tuple[Root, ...]
    types: Types
    axes: Names
    exact: bool
    """Whether types are JAX's own."""
    ranges: Words = lambda value: ""
    meanings: Words = lambda value: ""
    unknown: Words = lambda value: ""
    """Says why the shape of a value is not known."""
    most: int = 200_000
    """Steps of the data flow to keep; what is beyond is said in one more step."""


def range_words(facts: Facts | None) -> Words:
    """Return the words for ranges, where they were looked for."""
    ranges = None if facts is None else facts.find(Ranges)
    if ranges is None:
        return lambda value: ""
    known: dict[int, tuple[Range, str]] = {}

    def words(value: Value) -> str:
        one = ranges.of(value)
        # Many values have the very same range; keeping it beside its words keeps its identity its own.
        found = known.get(id(one))
        if found is None:
            found = known[id(one)] = (one, range_text(one))
        return found[1]

    return words


def meaning_words(facts: Facts | None) -> Words:
    """Return the words for meanings; each value is looked at when it is shown."""
    if facts is None:
        return lambda value: ""
    meanings = meanings_of(facts)

    def words(value: Value) -> str:
        found = meanings.said(value)
        return "" if found is None else found.value

    return words


def traced_view(program: Program, axes: Names, facts: Facts | None) -> View:
    """See a program that JAX traced."""
    types, gone = exact_types(program.types), mapped_axes(program, axes)

    def seen(value: Value) -> Shown | None:
        kind, away = types(value), gone.get(value)
        return kind if kind is None or away is None else Shown(_without(kind.shape, away), kind.dtype)

    def names(value: Value) -> tuple[str, ...]:
        away = gone.get(value)
        return axes(value) if away is None else _without(axes(value), away)

    return View(program.roots, seen, names, True, range_words(facts), meaning_words(facts))


def _without(parts: tuple[str, ...], away: Collection[int]) -> tuple[str, ...]:
    return tuple(part for place, part in enumerate(parts) if place not in away)


def source_view(facts: Facts, paths: frozenset[str]) -> View:
    """See what source tells of the audited files; roots that handle no array are left out."""
    shapes = facts.get(Shapes)
    known = {sign: thread.id for thread in facts.get(Axes).threads for sign in thread.signs}

    def axes(value: Value) -> tuple[str, ...]:
        dims = shapes.of(value).dims
        return tuple(axis_id(dim, value.span.path, known) for dim in dims) if dims is not None else ()

    roots = tuple(root for root in facts.program.roots if root.region.span.path in paths and _computes(root.region))
    words = (range_words(facts), meaning_words(facts), reasons(facts))
    return View(roots, inferred_types(shapes), axes, False, *words, most=_MOST_FROM_SOURCE)


def _computes(region: Region) -> bool:
    return any(op.name in TRANSFORMS or op.name.startswith(("array.", "key.", "grad.")) for op in region.walk())
