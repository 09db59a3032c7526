"""Values that get longer in every turn of a loop: what is joined to itself, and lists that are appended to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import Loop

_JOINS = frozenset("concatenate append hstack vstack dstack column_stack row_stack".split())
_LENGTHENS = frozenset(("append", "extend", "appendleft", "insert"))
_KEEPS = frozenset(
    "array.map array.convert array.create array.join array.expand array.numpy py.container device.place".split()
)
"""Ops whose result is longer where an operand is."""


def grown(loop: Op, flow: Flow) -> set[Value]:
    """Return the values that a loop carries and makes longer in every turn, before and after they got longer."""
    found = set[Value]()
    for region in loop.regions:
        for param, _, position in Loop(loop).carried_in(region):
            if position < len(region.results):
                after = origin(flow, region.results[position], {}, in_turn=True)
                if after.op is not None and _lengthens(after.op, param, flow):
                    found.update((param, after.value))
    return found


def _lengthens(op: Op, param: Value, flow: Flow) -> bool:
    if op.name == "py.append":
        base = op.argument("list")
        return op.method in _LENGTHENS and isinstance(base, Value) and _is(base, param, flow)
    return op.name == "array.join" and op.function in _JOINS and any(_is(one, param, flow) for one in op.operands)


def _is(value: Value, param: Value, flow: Flow) -> bool:
    return origin(flow, value, {}, in_turn=True).value is param


def is_longer(value: Value, found: set[Value], flow: Flow) -> bool:
    """Whether a value is longer in every turn, because it is made of something that is."""

    def below(one: Value) -> Sequence[Value]:
        made = origin(flow, one, {}, in_turn=True).op
        return made.operands if made is not None and (made.name in _KEEPS or _adds_axes(made)) else ()

    behind = walk((value,), below)
    return any(one in found or origin(flow, one, {}, in_turn=True).value in found for one in behind)


def _adds_axes(op: Op) -> bool:
    """Whether an index takes nothing away: `x[None]`, `x[:, None]`."""
    index = op.arguments.get("index", 0)
    parts = index if isinstance(index, tuple) else (index,)
    return op.name == "py.item" and all(
        part is None or (isinstance(part, Mapping) and not any(part.values())) for part in parts
    )
