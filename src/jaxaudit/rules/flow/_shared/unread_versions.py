"""Newer versions that nobody reads: which variable goes on with the old one, and whether that is surely a mistake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.index import is_pure
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.lineage.versions import Version, is_optimizer_step, versions
from jaxaudit.analyses.queries import depends
from jaxaudit.ir import Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.interfaces import Loop
from jaxaudit.libraries.lookup import plays
from jaxaudit.rules.intent.names import is_newer, is_unwanted
from jaxaudit.spans import Span


@dataclass(frozen=True, slots=True)
class OldRead:
    """A variable that still holds the old value when it is read."""

    variable: str
    leaves: tuple[Value, ...]
    read: Span
    next_turn: bool
    """Whether it is read in the next turn of the loop around it."""


@dataclass(frozen=True, slots=True)
class UnreadVersion:
    """A newer version that nothing reads, and the read that sees the old one."""

    note: Op
    made: Op
    plain: bool
    """Whether what made it is an update by its nature."""
    old: OldRead


@remembered
def unread_versions(facts: Facts) -> dict[Op, UnreadVersion]:
    """Return every variable that nothing reads and that holds a newer version of one that is read, by its note."""
    notes = [op for op in facts.program.named("py.unread") if op.kind == "variable"]
    return {op: found for op in notes if (found := _unread(op, facts.flow)) is not None}


def old_reads(note: Op) -> Iterator[OldRead]:
    """Return the variables that are read after a note, with values from before."""
    return (OldRead(name, *told) for name, told in (note.stale or {}).items())


def _unread(note: Op, flow: Flow) -> UnreadVersion | None:
    if note.made_at is None or note.stale is None or note.values is None:
        return None
    found = _version(note, note.made_at, note.values, flow)
    if found is None:
        return _in_place(note, note.values, flow) or _named_newer(note, note.values, flow)
    for old in old_reads(note):
        if old.leaves and found.old >= set(old.leaves):
            unread = UnreadVersion(note, found.op, found.plain, old)
            return unread if _is_wanted(unread, flow) else None
    return _returned(note, found, flow) if found.plain and not is_unwanted(note.label) else None


def _version(note: Op, span: Span, values: tuple[Value, ...], flow: Flow) -> Version | None:
    made = flow.made_at(span, note)
    if made is not None and made.name == "py.replace":
        return Version(frozenset(made.values), made, plain=True) if made.values else None
    found = [versions(flow, value) for value in values]
    known = [one for one in found if one is not None]
    # A container is a newer version only if every part of it is.
    if not known or len(known) < len(found):
        return None
    old = frozenset(value for one in known for value in one.old)
    return Version(old, known[0].op, all(one.plain for one in known))


def _in_place(note: Op, values: tuple[Value, ...], flow: Flow) -> UnreadVersion | None:
    """Take a record for the newer version of another where each of its parts is made from the part in its place."""
    made = flow.maker(values[0]) if len(values) > 1 and not is_unwanted(note.label) else None
    for old in old_reads(note):
        if made is not None and len(old.leaves) == len(values) == len(set(old.leaves)):
            pairs = zip(values, old.leaves, strict=True)
            if all(new is not before and depends(flow, new, (before,)) for new, before in pairs):
                return UnreadVersion(note, made, plain=False, old=old)
    return None


def _named_newer(note: Op, values: tuple[Value, ...], flow: Flow) -> UnreadVersion | None:
    """Take a value for the newer version of one that it is computed from and named after, such as `new_h` of `h`."""
    made = flow.maker(values[0]) if len(values) == 1 else None
    for old in old_reads(note):
        if made is not None and len(old.leaves) == 1 and is_newer(note.label, old.variable):
            if depends(flow, values[0], old.leaves):
                return UnreadVersion(note, made, plain=False, old=old)
    return None


def _returned(note: Op, found: Version, flow: Flow) -> UnreadVersion | None:
    """Return the old version that a function gives back, having put it aside before."""
    ends = [op for op in flow.places.region_of[note].ops if op.name == "py.return"]
    for value in found.old:
        end = next((op for op in ends if value in op.operands), None)
        if end is not None and value.name:
            old = OldRead(value.name, (value,), end.span, next_turn=False)
            return UnreadVersion(note, found.op, found.plain, old)
    return None


def _is_wanted(unread: UnreadVersion, flow: Flow) -> bool:
    """Whether a version is needed: an underscore denies it, but an optimizer cannot do without its moments."""
    if not is_unwanted(unread.note.label):
        return True
    made, old = unread.made, unread.old
    optimizer, state = made.value("self"), values_in(made.arguments.get("state"))
    if not is_optimizer_step(made) or not old.next_turn or optimizer is None:
        return False
    maker = origin(flow, optimizer, {}).op
    return set(old.leaves) <= set(state) and maker is not None and plays(maker.qualified, "optimizer.moments")


def is_surely_missed(unread: UnreadVersion, flow: Flow) -> bool:
    """Whether the old version goes on by mistake for sure, whatever the newer one was computed for."""
    made = unread.made
    computes_nothing_else = bool(made.results) and is_pure(made) and not any(map(flow.is_read, made.results))
    # A map over trees has one result: where nobody reads it, it was computed for nothing.
    if unread.plain or made.name == "tree.map" or computes_nothing_else:
        return True
    region = flow.places.region_of[unread.note]
    holder = flow.places.holder.get(id(region))
    loop = None if holder is None else Loop.of(holder)
    if loop is None:
        return False
    if any(inner.name == "grad" for body in made.regions for inner in body.walk()):
        # Each turn trains the same old parameters.
        return True
    feeds = unread.old.next_turn
    return any(
        (param in unread.old.leaves and following is param)
        or (feeds and param in made.operands and depends(flow, following, made.results))
        for param, following in loop.successors
    )
