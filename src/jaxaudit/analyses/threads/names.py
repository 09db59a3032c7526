"""What people call the axes of a traced program, and how each name is known.

A name that somebody declared comes first, then the constant that gave the axis its size (known where the source shows
the same place), then the `axis_name` of a transformation, then the transformation that made or took the axis.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import NamedTuple

from jaxaudit.analyses.labels import Labels, named
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.declared import declared_axes
from jaxaudit.analyses.threads.weave import Thread, Woven
from jaxaudit.ir import Op, Program, Size, Value
from jaxaudit.spans import Span


@dataclass(frozen=True, slots=True)
class Name:
    """The name of an axis, and where it comes from."""

    text: str = ""
    by: str = ""
    """`declared`, `constant`, `axis_name`, `product`, `vmap`, `scan`; empty where nothing names the axis."""
    aliases: tuple[str, ...] = ()


_RANK = ("declared", "constant", "axis_name", "product", "vmap", "scan")
_MAKERS = {
    "vmapped": "vmap",
    "collected": "vmap",
    "scanned": "scan",
    "stacked": "scan",
    "sharded": "vmap",
}

Votes = dict[Thread, dict[str, Counter[str]]]


def names_of(program: Program, woven: Woven, source: tuple[Program, Shapes] | None) -> dict[Thread, Name]:
    """Give every thread its name."""
    votes: Votes = defaultdict(lambda: defaultdict(Counter))
    _declared(program, woven, votes)
    if source is not None:
        _constants(program, woven, _labelled(*source), votes)
        _lengths(program, woven, source[0], votes)
    for thread in woven.threads:
        _makers(thread, votes)
    names: dict[Thread, Name] = {}
    for thread in woven.threads:
        _name(thread, votes, names)
    return names


def _declared(program: Program, woven: Woven, votes: Votes) -> None:
    for value, declared in declared_axes(program).items():
        for thread, name in zip(woven.of(value), declared.names, strict=False):
            if thread is not None and name.isidentifier():
                votes[thread]["declared"][name] += 1


class _Known(NamedTuple):
    """A value that the source shows: its name, and the size and name of each axis, 0 and empty where unknown."""

    name: str
    axes: tuple[tuple[int, str], ...]


def _labelled(program: Program, shapes: Shapes) -> Mapping[Span, Sequence[_Known]]:
    """Give for each place in the source the values that are made there, where some axis of theirs has a name."""
    found: dict[Span, dict[_Known, None]] = defaultdict(dict)
    some: set[Span] = set()
    for op in program.walk():
        for value in op.results:
            dims = shapes.of(value).dims or ()
            found[op.span][_Known(value.name, tuple((dim.constant or 0, _label(dim.labels)) for dim in dims))] = None
            if any(dim.labels for dim in dims):
                some.add(op.span)
    return {span: list(found[span]) for span in some}


def _label(labels: Labels) -> str:
    return min((one.name for one in named(labels)), default="")


def _expressions(program: Program, places: Container[Span]) -> Iterator[tuple[Span, list[Value]]]:
    """Give the values of the expressions at some places: JAX makes other things there too, on the way to them."""
    for span, ops in groupby(program.walk(), key=lambda op: op.span):
        if span in places:
            made = [value for op in ops for value in op.results]
            yield span, [one for one in made if one.name] or made[-1:]


def _constants(program: Program, woven: Woven, labelled: Mapping[Span, Sequence[_Known]], votes: Votes) -> None:
    for span, values in _expressions(program, labelled):
        single = len(values) == 1 and len(labelled[span]) == 1
        for value in values:
            kind = program.types.get(value)
            for known in labelled[span] if kind is not None else ():
                # Of several values at one place those go together that people call alike.
                if kind is not None and (single or _is_called(value, known.name)) and _fits(known, kind.shape):
                    _vote(woven.of(value), known.axes, votes)


def _is_called(value: Value, name: str) -> bool:
    return bool(name) and re.split(r"\W+", value.name.rstrip("]'\""))[-1] == name


def _fits(known: _Known, shape: Sequence[int]) -> bool:
    """Tell whether sizes agree; source may know an axis by its name and leave others open."""
    sizes = [size for size, _ in known.axes]
    return len(sizes) == len(shape) and all(size in (0, real) for size, real in zip(sizes, shape, strict=True))


def _lengths(program: Program, woven: Woven, source: Program, votes: Votes) -> None:
    """Name what a scan stacks and reads by the constant that the source gives for its length."""
    known = {op.span: size for op in source.named("scan") if isinstance(size := op.attrs.get("length"), Size)}
    for op in program.named("scan"):
        size, carry = known.get(op.span), op.attrs.get("carry")
        if size is None or not size.name or size != op.attrs.get("length") or not isinstance(carry, int):
            continue
        for value in (*op.operands[carry:], *op.results[carry:]):
            thread = next(iter(woven.of(value)), None)
            if thread is not None:
                votes[thread]["constant"][size.name] += 1


def _vote(threads: Sequence[Thread | None], known: Sequence[tuple[int, str]], votes: Votes) -> None:
    for thread, (size, name) in zip(threads, known, strict=False):
        if thread is not None and name and size:
            votes[thread]["constant"][name] += 1


def _makers(thread: Thread, votes: Votes) -> None:
    for station in thread.stations:
        by = _MAKERS.get(station.kind)
        if by is None or station.op is None:
            continue
        axis_name = station.op.text("axis_name")
        if axis_name:
            votes[thread]["axis_name"][axis_name] += 1
        if not votes[thread][by]:
            votes[thread][by][maker(station.op)] += 1


def maker(op: Op) -> str:
    """Write a transformation the way it was called: `vmap(step)`."""
    spelling = op.text("spelling").rpartition(".")[2] or op.name
    return f"{spelling}({op.text('function') or op.regions[-1].label})"


def _name(thread: Thread, votes: Votes, names: dict[Thread, Name]) -> Name:
    known = names.get(thread)
    if known is not None:
        return known
    names[thread] = Name()
    if thread.factors:
        parts = [_name(one, votes, names).text for one in thread.factors]
        if any(parts):
            texts = [part or str(one.size) for part, one in zip(parts, thread.factors, strict=True)]
            votes[thread]["product"]["*".join(texts)] += 1
    found = [(by, name) for by in _RANK for name, _ in votes[thread][by].most_common()]
    if found:
        by, text = found[0]
        further = (name for how, name in chain(found[1:]) if how in ("declared", "constant", "axis_name"))
        names[thread] = Name(text, by, tuple(dict.fromkeys(name for name in further if name != text)))
    return names[thread]
