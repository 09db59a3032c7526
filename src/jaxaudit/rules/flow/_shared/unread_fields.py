"""Fields of records that are computed and that no code of the program reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import readers
from jaxaudit.analyses.uses import EFFECTS, Uses
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import ARRAYS_OF_ITEMS
from jaxaudit.ir.ops import ARRAYS, CALLS, MAPPED
from jaxaudit.ir.record import record
from jaxaudit.rules.intent.names import is_unwanted
from jaxaudit.spans import Span

_COMPUTED = (ARRAYS | MAPPED | CALLS | {"scan", "key.draw", "py.call_library"}) - {"array.create", "array.shape"}
"""What gives a value that somebody wanted; a default, or the size of something else, is there anyhow."""

_Field = tuple[Span | None, str]
"""The class of a record, by its place, and the name of a field; a dict has a class of its own where it is written."""


@record
class UnreadField:
    """A field of a record that is computed where one is made, and that nothing reads of any record of its class."""

    made: Op
    """The note of the record."""
    name: str
    value: Value
    beside: str
    """A field of the same records that is read."""


@record
class Records:
    """The records that are made at one place."""

    made: Op
    read: int
    """How many of their fields are read or not computed."""
    unread: tuple[UnreadField, ...]
    open: str = ""
    """Why not all that may read them is in sight; empty where it is."""


def records_of(program: Program, facts: Facts) -> Iterator[Records]:
    """Return every place where a record is made of computed values, with those of its fields that nothing reads.

    A field is read where anything at all is made of what it holds, by its name or otherwise: what counts is the value.
    """
    places = defaultdict[tuple[Span, Span | None], list[Op]](list)
    notes = [op for op in program.named("py.record", "py.replace") if op.replaced]
    read, matters = _fields_read(notes, facts.get(Uses))
    for op in notes:
        if op.name == "py.record":
            places[op.span, op.where].append(op)
    closed = _running(program)
    for (_, cls), ops in places.items():
        computed = [name for name in _names(ops) if any(_is_computed(op, name, facts) for op in ops)]
        beside = next((name for name in _names(ops) if (cls, name) in matters), "")
        lost = [name for name in computed if (cls, name) not in read and not is_unwanted(name)]
        nowhere = [
            name for name in lost if beside and not _is_met(name, [one for one in notes if one.where == cls], facts)
        ]
        unread = tuple(_unread(ops, name, beside, facts) for name in nowhere)
        why = "" if closed.issuperset(ops) else "code out of sight may read it"
        measures = [name for name in nowhere if not ops[0].class_name and _is_measure(ops, name, facts)]
        if not why and measures:
            why = f"`{measures[0]}` sums data up, and may be there for whoever wants to look at it"
        if not why and len(lost) > len(nowhere):
            why = f"what becomes of `{next(name for name in lost if name not in nowhere)}` was not followed"
        if computed:
            yield Records(ops[0], len(_names(ops)) - len(unread), unread, why)


def _fields_read(notes: list[Op], uses: Uses) -> tuple[set[_Field], set[_Field]]:
    """Return the fields of each class that something reads, and those that make a difference to something."""
    read, matters = set[_Field](), set[_Field]()
    for op in notes:
        for name, value in (op.replaced or {}).items():
            found = uses.becomes(value) if isinstance(value, Value) else None
            if found is None or found:
                read.add((op.where, name))
            if found is not None and found & EFFECTS:
                matters.add((op.where, name))
    return read, matters


def _is_met(name: str, notes: list[Op], facts: Facts) -> bool:
    """Whether any op takes what a field holds, be it that nothing comes of that."""
    held = [value for op in notes if isinstance(value := (op.replaced or {}).get(name), Value)]
    return any(op.name != "py.return" and not op.regions for one in held for op in readers(facts.flow, one))


def _is_measure(ops: list[Op], name: str, facts: Facts) -> bool:
    """Whether what a field holds sums data up, as what a training step tells of itself does."""
    held = [value for op in ops if isinstance(value := (op.replaced or {}).get(name), Value)]
    made = [facts.flow.maker(value) for value in held]
    return any(one is not None and one.name == "array.reduce" for one in made)


def _running(program: Program) -> frozenset[Op]:
    """Return the records that are made by code which runs as it stands, and not for whoever calls it."""
    seen = set[int]()
    return frozenset(
        op for root in program.roots if root.runs for op in root.region.walk(seen) if op.name == "py.record"
    )


def _names(ops: list[Op]) -> list[str]:
    return list(dict.fromkeys(name for op in ops for name in op.replaced or {}))


def _unread(ops: list[Op], name: str, beside: str, facts: Facts) -> UnreadField:
    made = next(op for op in ops if _is_computed(op, name, facts))
    value = (made.replaced or {})[name]
    return UnreadField(made, name, value, beside)


def _is_computed(op: Op, name: str, facts: Facts) -> bool:
    """Whether the value of a field was computed of something."""
    value = (op.replaced or {}).get(name)
    made = facts.flow.maker(value) if isinstance(value, Value) else None
    return made is not None and made.name in _COMPUTED and bool(made.operands) and made.function not in ARRAYS_OF_ITEMS
