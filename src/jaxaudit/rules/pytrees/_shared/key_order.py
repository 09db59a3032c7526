"""In which order the entries of a dict come: as they were put in, or sorted, once JAX has taken the dict apart."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import holders, walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import made_inside, source_of
from jaxaudit.ir.ops import BODIES, CARRYING, MAPPED
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import lookup
from jaxaudit.libraries.results import Like

_SORTING = (MAPPED | BODIES | CARRYING | {"cond"}) - {"py.call"}
"""Ops that take trees apart and put them together again: the keys of a dict are sorted from then on."""
_VIEWS = (".items", ".keys", ".values")
_IN_ORDER = ("builtins.iter", "builtins.list", "builtins.reversed", "builtins.tuple")


@record
class Filled:
    """A dict as a loop has filled it."""

    loop: Op
    sorted_by: Op | None
    """What has taken the dict apart since; None where its keys come as they were put in."""


def filled(flow: Flow, value: Value) -> Iterator[Filled]:
    """Return where a dict was filled by a loop, and what has sorted its keys since, for every way it may have come."""
    for one, sorted_by in walk(((value, None),), lambda state: _before(flow, *state)):
        op = flow.own_maker(one)
        loop = None if op is None else _filling(op, flow)
        if loop is not None:
            yield Filled(loop, sorted_by)


def viewed(flow: Flow, given: Value) -> Value:
    """Return the dict whose entries something gives one by one; itself, where it is no view of another."""
    while True:
        op = flow.maker(given)
        rows = op.arguments.get("rows") if op is not None and op.name == "py.container" else None
        if isinstance(rows, Value):
            given = rows
        elif op is not None and op.operands and op.qualified in _IN_ORDER:
            given = op.operands[0]
        elif op is not None and op.operands and op.qualified in _VIEWS:
            return op.operands[0]
        else:
            return given


State = tuple[Value, Op | None]


def _before(flow: Flow, value: Value, sorted_by: Op | None) -> Iterator[State]:
    """Return what a dict was on the other side of a border, or before its leaves were exchanged."""
    op = flow.own_maker(value)
    region = flow.places.owner.get(value) if op is None else None
    if region is not None:
        for holder in holders(flow, region):
            sorts = sorted_by or (holder if holder.name in _SORTING else None)
            yield from ((one, sorts) for one in source_of(holder, region, value))
    if op is None or _filling(op, flow) is not None:
        return
    if op.name == "tree.map":
        yield from ((one, sorted_by or op) for one in op.operands[:1])
    elif op.regions:
        sorts = sorted_by or (op if op.name in _SORTING else None)
        yield from ((one, sorts) for region in op.regions for one in made_inside(op, region, value))
    elif op.name == "py.join":
        yield from ((one, sorted_by) for one in op.operands)
    elif (kept := _renewed(op)) is not None:
        yield kept, sorted_by or op


def _renewed(op: Op) -> Value | None:
    """Return the tree that a function of a library gives a newer version of, leaf by leaf."""
    row = lookup(op.qualified) if op.qualified else None
    result = None if row is None else row.result
    kept = op.arguments.get(result.param) if isinstance(result, Like) and result.newer else None
    return kept if isinstance(kept, Value) else None


def _filling(op: Op, flow: Flow) -> Op | None:
    """Return the loop that puts the entries into a dict."""
    if op.name == "py.container" and op.kind == "dict":
        keys = op.arguments.get("keys")
        made = flow.maker(keys) if isinstance(keys, Value) else None
        return made if made is not None and made.name == "py.loop" else None
    stores = [one for one in op.regions[-1].ops if one.name == "py.set_item"] if op.name == "py.loop" else []
    return op if len(stores) == 1 and isinstance(stores[0].arguments.get("index"), Value) else None
