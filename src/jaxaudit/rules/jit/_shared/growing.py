"""Values that get longer in every turn of a loop: what is joined to itself, and lists that are appended to."""

from __future__ import annotations

from collections.abc import Iterable

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import LENGTHENING
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import KEEPING
from jaxaudit.ir.values import leaves_nothing_out

_AS_LONG = KEEPING | {"array.map", "array.create", "array.join", "array.numpy", "py.container"}
"""Ops whose result is longer where an operand is."""


def grown(loop: Loop, flow: Flow) -> set[Value]:
    """Return the values that a loop carries and makes longer in every turn, before and after they got longer."""
    found = set[Value]()
    for (param, _, _), result in zip(loop.carried, loop.body.results, strict=False):
        after = origin(flow, result, {}, in_turn=True)
        if after.op is not None and any(_is(one, param, flow) for one in _lengthened(after.op)):
            found.update((param, after.value))
    return found


def _lengthened(op: Op) -> Iterable[Value]:
    """Return the lists or arrays that the result of an op is a longer version of."""
    if op.name == "py.append":
        return values_in(op.argument("list")) if op.method in LENGTHENING else ()
    return op.operands if op.name == "array.join" and op.function != "stack" else ()


def _is(value: Value, param: Value, flow: Flow) -> bool:
    return origin(flow, value, {}, in_turn=True).value is param


def is_longer(value: Value, found: set[Value], flow: Flow) -> bool:
    """Whether a value is longer in every turn, because it is made of something that is."""

    def made_of(one: Value) -> tuple[Value, ...]:
        made = origin(flow, one, {}, in_turn=True)
        if made.value is not one:
            return (made.value,)
        op = made.op
        keeps = op is not None and (op.name in _AS_LONG or (op.name == "py.item" and _adds_axes(op)))
        return op.operands if op is not None and keeps else ()

    return any(one in found for one in walk((value,), made_of))


def _adds_axes(op: Op) -> bool:
    return leaves_nothing_out(op.arguments.get("index", 0))
