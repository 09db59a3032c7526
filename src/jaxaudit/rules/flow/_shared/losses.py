"""Newer versions that nobody reads: which variable goes on with the old one, and how sure that is a mistake."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from jaxaudit.analyses.lineage import Flow, Version, versions
from jaxaudit.analyses.lineage.index import is_pure
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.lineage.versions import is_optimizer_step
from jaxaudit.analyses.queries import depends, reached
from jaxaudit.ir import Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import LOOPS
from jaxaudit.libraries.lookup import plays
from jaxaudit.rules.intent.names import is_unwanted
from jaxaudit.spans import Span

Stale = Mapping[str, tuple[tuple[Value, ...], Span, bool]]


@dataclass(frozen=True, slots=True)
class Loss:
    """An unread version, the variable with the old one, and the read that still sees it."""

    note: Op
    made: Op
    plain: bool
    variable: str
    leaves: tuple[Value, ...]
    read: Span
    next_turn: bool


def find_loss(note: Op, flow: Flow) -> Loss | None:
    """Say what is lost when nobody reads a variable; None when it is no newer version of anything read later."""
    span, stale, values = note.made_at, note.stale, note.values
    if not isinstance(span, Span) or not isinstance(stale, Mapping) or not isinstance(values, tuple):
        return None
    found = _version(note, span, values, flow)
    for variable, (leaves, read, next_turn) in stale.items():
        if found is not None and leaves and found.old >= set(leaves):
            loss = Loss(note, found.op, found.plain, variable, leaves, read, next_turn)
            return loss if _is_wanted(loss, flow) else None
    if found is not None:
        return _handed_out(note, found, flow) if found.plain and not is_unwanted(note.label) else None
    return _in_place(note, values, stale, flow) or _by_role(note, values, stale, flow)


def _in_place(note: Op, values: tuple[Value, ...], stale: Stale, flow: Flow) -> Loss | None:
    """Take a record for the newer version of another where each of its parts is made from the part in its place."""
    made = flow.maker(values[0]) if len(values) > 1 and not is_unwanted(note.label) else None
    for variable, (leaves, read, next_turn) in stale.items():
        if made is not None and len(leaves) == len(values) == len(set(leaves)):
            if all(new is not old and depends(flow, new, (old,)) for new, old in zip(values, leaves, strict=True)):
                return Loss(note, made, False, variable, leaves, read, next_turn)
    return None


def _handed_out(note: Op, found: Version, flow: Flow) -> Loss | None:
    """Whether a function returns the old version, which it has put aside before."""
    ends = [op for op in flow.places.region_of[note].ops if op.name == "py.return"]
    for old in found.old:
        end = next((op for op in ends if old in op.operands), None)
        if end is not None and old.name:
            return Loss(note, found.op, found.plain, old.name, (old,), end.span, next_turn=False)
    return None


def _is_wanted(loss: Loss, flow: Flow) -> bool:
    """An underscore says that a value is not wanted; an optimizer that has state cannot do without."""
    if not is_unwanted(loss.note.label):
        return True
    optimizer, state = loss.made.arguments.get("self"), set(values_in(loss.made.arguments.get("state")))
    if (
        not state.issuperset(loss.leaves)
        or not is_optimizer_step(loss.made)
        or not loss.next_turn
        or not isinstance(optimizer, Value)
    ):
        return False
    made = origin(flow, optimizer, {}).op
    return made is not None and plays(made.qualified, "optimizer.moments")


def _version(note: Op, span: Span, values: tuple[Value, ...], flow: Flow) -> Version | None:
    made = flow.made_at(span, note)
    if made is not None and made.name == "py.replace":
        old = made.values
        return Version(frozenset(old), made, plain=True) if isinstance(old, tuple) and old else None
    found = [versions(flow, value) for value in values]
    known = [one for one in found if one is not None]
    # A container is a newer version only if every part of it is.
    if not known or len(known) < len(found):
        return None
    old = frozenset(value for one in known for value in one.old)
    return Version(old, known[0].op, all(one.plain for one in known))


def _by_role(note: Op, values: tuple[Value, ...], stale: Stale, flow: Flow) -> Loss | None:
    """Take a value for the newer version of one that it is computed from and named after, such as `new_h` of `h`."""
    made = flow.maker(values[0]) if len(values) == 1 else None
    for variable, (leaves, read, next_turn) in stale.items():
        if made is not None and len(leaves) == 1 and _names_newer(note.label, variable):
            if depends(flow, values[0], leaves):
                return Loss(note, made, False, variable, leaves, read, next_turn)
    return None


def _names_newer(name: str, variable: str) -> bool:
    old = re.escape(variable)
    return re.fullmatch(rf"(new|next|updated|upd|nxt)_?{old}|{old}_?(new|next|updated|upd|nxt|tp1|2)", name) is not None


def _for_nothing(loss: Loss, flow: Flow) -> bool:
    """Whether a call does nothing but compute what nobody reads."""
    made = loss.made
    return bool(made.results) and is_pure(made) and not any(flow.is_read(one) for one in made.results)


def is_sure(loss: Loss, flow: Flow) -> bool:
    """Whether the old version goes on by mistake for sure, whatever the value was computed for."""
    # A map over trees has one result: where nobody reads it, it was computed for nothing.
    if loss.plain or loss.made.name == "tree.map" or _for_nothing(loss, flow):
        return True
    region = flow.places.region_of[loss.note]
    loop = flow.places.holder.get(id(region))
    if loop is None or loop.name not in LOOPS:
        return False
    if any(inner.name == "grad" for body in loss.made.regions for inner in body.walk()):
        # Each turn trains the same old parameters.
        return True
    turns = Loop(loop).carried_in(region)
    kept = any(param in loss.leaves and region.results[at : at + 1] == (param,) for param, _, at in turns)
    after = reached(flow, loss.made.results)
    feeds = any(param in loss.made.operands and after & set(region.results[at : at + 1]) for param, _, at in turns)
    return kept or (loss.next_turn and feeds)
