"""Axis threads: for each named axis the stations of its way through the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.labels import told
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.mapped import axes_of, place_of
from jaxaudit.analyses.shapes.regions import carry_count
from jaxaudit.ir import Op, Program
from jaxaudit.spans import Span

_MOST = 64
"""How many stations of one axis are worth showing."""


@dataclass(frozen=True, slots=True)
class Station:
    """One thing that happens to an axis."""

    span: Span
    deed: str
    """`enters`, `vmapped`, `scanned`, `merged`, `split`, `reduced`, `projected`, `broadcast`, `collected`."""
    what: str
    """The function or value it happens in."""
    op: Op


@dataclass(frozen=True, slots=True)
class Thread:
    """The way of one axis."""

    name: str
    size: str
    stations: Sequence[Station]


def threads_of(program: Program, shapes: Shapes) -> tuple[Thread, ...]:
    """Return the thread of every named axis, in the order in which they enter."""
    ways: dict[str, dict[Station, None]] = {}
    sizes: dict[str, str] = {}
    for op in (op for op in program.walk() if op.name in _TELLING):
        for dim, deed in _deeds(op, shapes):
            for label in sorted(told(dim.labels), key=lambda label: label.name):
                sizes.setdefault(label.name, str(dim))
                stations = ways.setdefault(label.name, {})
                if len(stations) < _MOST:
                    stations.setdefault(Station(op.span, deed, _what(op), op))
    return tuple(Thread(name, sizes[name], tuple(stations)) for name, stations in ways.items())


def _what(op: Op) -> str:
    return op.function or next((value.name for value in op.results if value.name), op.name)


def _deeds(op: Op, shapes: Shapes) -> Iterator[tuple[Dim, str]]:
    before = [dim for value in op.operands for dim in shapes.of(value).dims or ()]
    after = [dim for value in op.results for dim in shapes.of(value).dims or ()]
    if op.name == "vmap" or op.name == "pmap":
        yield from ((dim, "vmapped") for dim in _taken(op, shapes, axes_of(op)))
        yield from ((dim, "collected") for dim in after if any(label.op is op for label in dim.labels))
    elif op.name == "scan":
        yield from ((dim, "scanned") for dim in _taken(op, shapes, (None,) * carry_count(op)))
    elif op.name in _LOSES:
        yield from ((dim, _LOSES[op.name]) for dim in before if dim not in after)
    elif op.name in _ENTERS:
        yield from ((dim, "enters") for dim in after if dim not in before)


def _taken(op: Op, shapes: Shapes, axes: Sequence[object]) -> Iterator[Dim]:
    for at, value in enumerate(op.operands):
        axis = axes[at] if at < len(axes) else 0
        dims = shapes.of(value).dims
        place = place_of(axis, len(dims)) if dims is not None and isinstance(axis, int) else None
        if dims is not None and place is not None:
            yield dims[place]


_LOSES: Mapping[str, str] = {
    "array.reduce": "reduced",
    "array.order": "reduced",
    "array.reshape": "merged",
    "array.dot": "projected",
    "array.split": "split",
}
_ENTERS = ("array.create", "array.numpy", "key.draw", "key.split", "array.expand")
_TELLING = frozenset(("vmap", "pmap", "scan", *_LOSES, *_ENTERS))
