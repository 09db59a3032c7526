"""The axes of a traced program for the report: a name, an id that stays, and the stations of each axis's way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.threads import Station, Thread, Woven, weave
from jaxaudit.analyses.threads.names import Name, maker, names_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.record import record
from jaxaudit.reports.called import called
from jaxaudit.reports.model import Axis, AxisStation
from jaxaudit.reports.types_text import exact_types, type_text

_MOST_STATIONS = 60
"""Stations of one axis to report: enough for every line of a long program."""


@record
class ThreadAxes:
    """The threads of a program with their names and ids."""

    program: Program
    woven: Woven
    names: Mapping[Thread, Name]
    known: Mapping[Thread, str]
    _ids: dict[tuple[Thread | None, ...], tuple[str, ...]] = field(default_factory=dict)

    def ids(self, value: Value) -> tuple[str, ...]:
        """Return the ids of a value's axes."""
        threads = self.woven.of(value)
        found = self._ids.get(threads)
        if found is None:
            found = self._ids[threads] = tuple([self.known[one] if one is not None else "" for one in threads])
        return found


def thread_axes(program: Program, source: tuple[Program, Shapes] | None) -> ThreadAxes:
    """Weave the threads of a traced program, and name them with the help of what the source shows."""
    woven = weave(program)
    names = names_of(program, woven, source)
    return ThreadAxes(program, woven, names, dict(_ids(woven, names)))


def _ids(woven: Woven, names: Mapping[Thread, Name]) -> Iterator[tuple[Thread, str]]:
    """Name each thread by its root and what it is; those that are called alike are numbered."""
    taken: dict[str, int] = {}
    for thread in woven.threads:
        base = f"{thread.root.name}/{names[thread].text or origin(thread)}"
        taken[base] = taken.get(base, 0) + 1
        yield thread, base if taken[base] == 1 else f"{base}#{taken[base]}"


def origin(thread: Thread) -> str:
    """Return where an axis comes from: the first of its stations that makes or brings it."""
    first = next((one for one in thread.stations if one.kind in _BEGINS), thread.stations[0])
    value, axis = first.slot
    if first.op is None:
        return f"argument {value.name or 'without a name'}, axis {axis}"
    if first.kind in ("collected", "stacked", "vmapped", "scanned", "sharded"):
        return maker(first.op)
    if thread.called is not None:
        return f"{thread.called.value.name}, axis {thread.called.axis}"
    what = first.op.function or "a constant"
    return f"{value.name or what}, axis {axis}"


_BEGINS = ("enters", "made", "collected", "stacked", "joined", "broadcast", "extended")


def axes_section(
    threads: ThreadAxes, shown: frozenset[str], steps: Mapping[Op, int], rows: Mapping[Op, int]
) -> tuple[Axis, ...]:
    """Return every axis with its stations; several of one kind on one line are told as one.

    Constants that JAX makes for a derivative or to fill a shape have axes of their own, which no other section shows.
    """
    factors = {one for thread in threads.woven.threads for one in thread.factors}
    told = [
        one for one in threads.woven.threads if threads.known[one] in shown or one in factors or not _only_made(one)
    ]
    return tuple(_axis(thread, threads, steps, rows) for thread in told)


def _only_made(thread: Thread) -> bool:
    return all(station.kind in ("made", "broadcast") for station in thread.stations)


def _axis(thread: Thread, threads: ThreadAxes, steps: Mapping[Op, int], rows: Mapping[Op, int]) -> Axis:
    name = threads.names[thread]
    alike: dict[tuple[object, ...], list[Station]] = {}
    for station in _told(thread):
        op = station.op
        span = op.span if op is not None else station.slot.value.span
        row = rows.get(op) if op is not None else None
        key = (station.kind, span.path, span.line, row, op is not None and bool(op.backward))
        if key in alike or len(alike) < _MOST_STATIONS:
            alike.setdefault(key, []).append(station)
    stations = [_station(one[0], threads.program, steps, rows, len(one)) for one in alike.values()]
    return Axis(
        threads.known[thread],
        name.text,
        thread.size,
        thread.root.name,
        origin(thread),
        name.by,
        name.aliases,
        tuple(threads.known[one] for one in thread.factors),
        tuple(stations),
    )


def _told(thread: Thread) -> Iterator[Station]:
    """Leave out what says nothing: an axis that is there already is not made again by every constant it meets."""
    begun = False
    for station in thread.stations:
        if station.kind == "made" and begun:
            continue
        begun = begun or station.kind in _BEGINS
        yield station


def _station(
    station: Station, program: Program, steps: Mapping[Op, int], rows: Mapping[Op, int], count: int
) -> AxisStation:
    value, axis = station.slot
    op = station.op
    span = op.span if op is not None else value.span
    return AxisStation(
        station.kind,
        span.path,
        span.line,
        _text(station),
        op.name if op is not None else "",
        value.name,
        type_text(exact_types(program.types)(value)),
        axis,
        steps.get(op) if op is not None else (0 if station.kind == "enters" else None),
        rows.get(op) if op is not None else None,
        count,
        backward=op is not None and bool(op.backward),
    )


def _text(station: Station) -> str:
    """Return in a few words what happens to the axis."""
    value = f"`{station.slot.value.name}`" if station.slot.value.name else ""
    op = station.op
    if op is None:
        where = f"axis {station.slot.axis}"
        return f"{station.kind} as {where} of {value}" if value else f"{station.kind} as {where}"
    words = _WORDS[station.kind].format(by=maker(op) if op.regions else called(op))
    words += " in the backward pass" if op.backward else ""
    return f"{words}: {value}" if value and station.kind not in ("vmapped", "scanned") else words


_WORDS = {
    "made": "made by {by}",
    "vmapped": "mapped away by {by}",
    "collected": "put back by {by}",
    "scanned": "scanned by {by}",
    "stacked": "stacked by {by}",
    "merged": "merged with its neighbour by {by}",
    "split": "split by {by}",
    "reshaped": "rearranged by {by}",
    "reduced": "reduced by {by}",
    "projected": "contracted by {by}",
    "broadcast": "copies are made along it by {by}",
    "joined": "joined by {by}",
    "cut": "cut by {by}",
    "sliced": "shortened by {by}",
    "extended": "lengthened by {by}",
    "indexed": "read by index",
    "sharded": "spread over devices by {by}",
}
