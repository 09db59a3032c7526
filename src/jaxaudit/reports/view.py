"""How the sections about data see a program: which roots, the type of each value and the names of its axes.

A traced program has exact types, one read from source has what was inferred; both as the code there sees it, without
the axes that a `vmap` around has taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from jaxaudit.analyses.axes import Axes
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.meaning import meanings_of
from jaxaudit.analyses.ranges import Range, Ranges, range_text
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Program, Region, Root, Value
from jaxaudit.reports.inside import Names, mapped_axes
from jaxaudit.reports.stack import TRANSFORMS
from jaxaudit.reports.types_text import Shown, Types, axis_id, exact_types, inferred_types

Words = Callable[[Value], str]
"""Gives the range of a value in words; empty where nothing is known of it."""


_MOST_FROM_SOURCE = 10_000
"""A whole project has millions of steps, which nobody reads; a program that somebody works on has hundreds."""


@dataclass(frozen=True, slots=True)
class View:
    """What the sections read."""

    roots: tuple[Root, ...]
    types: Types
    axes: Names
    exact: bool
    """Whether types are JAX's own."""
    ranges: Words = lambda value: ""
    meanings: Words = lambda value: ""
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
    return View(roots, inferred_types(shapes), axes, False, range_words(facts), meaning_words(facts), _MOST_FROM_SOURCE)


def _computes(region: Region) -> bool:
    return any(op.name in TRANSFORMS or op.name.startswith(("array.", "key.", "grad.")) for op in region.walk())
