"""What people call the axes of a traced program, and how each name is known.

A name that somebody declared comes first, then the constant that gave the axis its size (known where the source shows
the same place), then the `axis_name` of a transformation, then the transformation that made or took the axis.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain

from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.declared import declared_axes
from jaxaudit.analyses.threads.places import alike, label_of
from jaxaudit.analyses.threads.weave import Thread, Woven
from jaxaudit.ir import Op, Program, Size
from jaxaudit.ir.record import record


@record
class Name:
    """The name of an axis, and where it comes from."""

    text: str = ""
    by: str = ""
    """`declared`, `constant`, `axis_name`, `product`, `vmap`, `scan`; empty where nothing names the axis."""
    aliases: tuple[str, ...] = ()


_RANK = ("declared", "constant", "axis_name", "product", "vmap", "scan")
_MAKERS = {"vmapped": "vmap", "collected": "vmap", "scanned": "scan", "stacked": "scan", "sharded": "vmap"}

Votes = dict[Thread, dict[str, Counter[str]]]


def names_of(program: Program, woven: Woven, source: tuple[Program, Shapes] | None) -> dict[Thread, Name]:
    """Return every thread its name."""
    votes: Votes = defaultdict(lambda: defaultdict(Counter))
    _declared(program, woven, votes)
    if source is not None:
        _constants(program, woven, source, votes)
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
                votes[thread]["constant" if declared.source == "constant" else "declared"][name] += 1


def _constants(program: Program, woven: Woven, source: tuple[Program, Shapes], votes: Votes) -> None:
    for value, known in alike(program, *source):
        _vote(woven.of(value), [(size, label_of(labels)) for size, labels in known.axes], votes)


def _lengths(program: Program, woven: Woven, source: Program, votes: Votes) -> None:
    """Name what a scan stacks and reads by the constant that the source gives for its length."""
    known = {op.span: size for op in source.named("scan") if isinstance(size := op.length, Size)}
    for op in program.named("scan"):
        size, carry = known.get(op.span), op.carry
        if size is None or not size.name or size != op.length or carry is None:
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
        axis_name = station.op.axis_name
        if isinstance(axis_name, str) and axis_name:
            votes[thread]["axis_name"][axis_name] += 1
        if not votes[thread][by]:
            votes[thread][by][maker(station.op)] += 1


def maker(op: Op) -> str:
    """Write a transformation the way it was called: `vmap(step)`."""
    spelling = op.spelling.rpartition(".")[2] or op.name
    return f"{spelling}({op.qualified or op.regions[-1].label})"


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
