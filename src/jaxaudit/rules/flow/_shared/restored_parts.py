"""Copies of a record that put a field back as it was, though a newer version of it has been made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.lineage import Flow, versions
from jaxaudit.analyses.lineage.versions import averaged
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.rules.base import Obligation, Step, Verdict
from jaxaudit.rules.flow._shared.phrases import called

_MAP = "array.map"


def put_back(rule: str, program: Program, flow: Flow) -> Iterator[Obligation]:
    """Return every field that a copy is given again unchanged after something made it anew."""
    copies = list(program.named("py.replace"))
    for op in copies:
        again = op.restored
        for field, had in again.items() if isinstance(again, Mapping) else ():
            newer = _newer_record(op, had, copies, flow) or _newer_leaf(op, had, flow)
            if newer is not None:
                yield _told(rule, op, str(field), newer)


def average_left_out(rule: str, program: Program, flow: Flow) -> Iterator[Obligation]:
    """Return every function that gives a running average back as it was, though it moved it and another one on."""
    for op in program.named("py.return"):
        region = flow.places.region_of[op]
        given, left = set(region.params), set(region.results)
        for old in given & left if len(region.results) > 1 else ():
            newer = _moved(old, left, flow)
            if newer is not None and any(_follows(one, old, region, flow) for one in left - given):
                yield _told(rule, op, old.name, newer)


def _moved(old: Value, left: set[Value], flow: Flow) -> Op | None:
    """Return what makes the next value of a running average, where something reads that and nothing gives it back."""
    for scaled in flow.readers.get(old, ()):
        sums = (one for made in scaled.results for one in flow.readers.get(made, ())) if scaled.name == _MAP else ()
        for one in sums:
            if one.name == _MAP and averaged(flow, one.result, (old,)) is old and one.result not in left:
                return one if flow.readers.get(one.result) else None
    return None


def _follows(value: Value, old: Value, region: Region, flow: Flow) -> bool:
    return any(averaged(flow, value, (one,)) is one for one in region.params if one is not old)


def _newer_record(op: Op, had: tuple[Value, ...], copies: list[Op], flow: Flow) -> Op | None:
    """Return the copy that was made of the very record that is put back."""
    makers = (one for one in copies if one is not op and one.values == had)
    return next((one for one in makers if _is_before(one, op, flow)), None)


def _newer_leaf(op: Op, had: tuple[Value, ...], flow: Flow) -> Op | None:
    """Return the op that made a newer version of the one array that is put back."""
    for reader in flow.readers.get(had[0], ()) if len(had) == 1 else ():
        found = [versions(flow, value) for value in reader.results]
        if any(one is not None and had[0] in one.old for one in found) and _is_before(reader, op, flow):
            return reader
    return None


def _is_before(first: Op, second: Op, flow: Flow) -> bool:
    """Whether an op, or the call it happens in, stands before another one in the same body."""
    region, holder = flow.places.region_of[second], first
    while flow.places.region_of[holder] is not region:
        above = flow.holder(holder)
        if above is None:
            return False
        holder = above
    return region.ops.index(holder) < region.ops.index(second)


def _told(rule: str, op: Op, field: str, newer: Op) -> Obligation:
    return Obligation(
        rule,
        op.span,
        Verdict.VIOLATED,
        message=f"`{field}` is put back as it was, though a newer version of it was made",
        current=f"`{op.method or 'return'}` is given the old `{field}` again, so the newer one is not kept",
        expected=f"the copy holds the newer `{field}`",
        steps=(Step(newer.span, f"`{called(newer)}` makes the newer version here"),),
        suggestion=f"give the newer `{field}`, or leave the field out",
    )
