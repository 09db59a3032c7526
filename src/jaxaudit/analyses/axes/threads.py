"""Axis threads: for each named axis the stations of its way through the program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from jaxaudit.analyses.axes.meetings import taken_sides
from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.labels import Label, told
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program
from jaxaudit.ir.record import record
from jaxaudit.spans import Span

_MOST = 64
"""How many stations of one axis are worth showing."""


@record
class Station:
    """One thing that happens to an axis."""

    span: Span
    deed: str
    """`enters`, `vmapped`, `scanned`, `merged`, `split`, `reduced`, `projected`, `broadcast`, `collected`."""
    what: str
    """The function or value it happens in."""
    op: Op


Sign: TypeAlias = tuple[str, str, str]
"""What tells one axis from others: its name with the scope of a label, or with a file that says it."""


@record
class Thread:
    """The way of one axis."""

    id: str
    """The name; numbered where axes of unrelated files have the same one."""
    name: str
    size: str
    signs: frozenset[Sign]
    stations: Sequence[Station]


def signs_of(label: Label, path: str) -> tuple[Sign, Sign]:
    """Return by what the axis with a label on a line of some file is known."""
    return (label.name, "scope", label.scope), (label.name, "file", path)


def threads_of(program: Program, shapes: Shapes) -> tuple[Thread, ...]:
    """Return the thread of every named axis, in the order in which they enter.

    A name is one axis throughout a file, and in several files where they share what gives the name: a constant that
    one of them imports, a function that one calls.
    """
    groups: dict[Sign, set[Sign]] = {}
    met: list[tuple[Sign, str, Station]] = []
    for op in (op for op in program.walk() if op.name in _TELLING):
        for dim, deed in _deeds(op, shapes):
            for label in sorted(told(dim.labels), key=lambda label: label.name):
                signs = signs_of(label, op.span.path)
                _unite(groups, *signs)
                met.append((signs[0], str(dim), Station(op.span, deed, _what(op), op)))
    ways: dict[int, tuple[Sign, str, dict[Station, None]]] = {}
    for sign, size, station in met:
        stations = ways.setdefault(id(groups[sign]), (sign, size, {}))[2]
        if len(stations) < _MOST:
            stations.setdefault(station)
    alike = Counter[str]()
    return tuple(_thread(sign, size, groups[sign], tuple(stations), alike) for sign, size, stations in ways.values())


def _unite(groups: dict[Sign, set[Sign]], first: Sign, second: Sign) -> None:
    one, other = (groups.setdefault(sign, {sign}) for sign in (first, second))
    if one is not other:
        small, large = sorted((one, other), key=len)
        large |= small
        groups.update(dict.fromkeys(small, large))


def _thread(sign: Sign, size: str, signs: set[Sign], stations: tuple[Station, ...], alike: Counter[str]) -> Thread:
    name = sign[0]
    alike[name] += 1
    number = f"#{alike[name]}" if alike[name] > 1 else ""
    return Thread(f"{name}{number}", name, size, frozenset(signs), stations)


def _what(op: Op) -> str:
    return op.function or next((value.name for value in op.results if value.name), op.name)


def _deeds(op: Op, shapes: Shapes) -> Iterator[tuple[Dim, str]]:
    before = [dim for value in op.operands for dim in shapes.of(value).dims or ()]
    after = [dim for value in op.results for dim in shapes.of(value).dims or ()]
    if op.name in ("vmap", "pmap"):
        yield from ((side.dim, "vmapped") for side in taken_sides(op, shapes.of))
        yield from ((dim, "collected") for dim in after if any(label.op is op for label in dim.labels))
    elif op.name == "scan":
        yield from ((side.dim, "scanned") for side in taken_sides(op, shapes.of))
    elif op.name in _LOSES:
        yield from ((dim, _LOSES[op.name]) for dim in before if dim not in after)
    elif op.name in _ENTERS:
        yield from ((dim, "enters") for dim in after if dim not in before)


_LOSES: Mapping[str, str] = {
    "array.reduce": "reduced",
    "array.order": "reduced",
    "array.reshape": "merged",
    "array.dot": "projected",
    "array.split": "split",
}
_ENTERS = ("array.create", "array.numpy", "key.draw", "key.split", "array.expand")
_TELLING = frozenset(("vmap", "pmap", "scan", *_LOSES, *_ENTERS))
