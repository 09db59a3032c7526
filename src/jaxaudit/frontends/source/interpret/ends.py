"""Axes that are counted from the end by hand: `x.sum(axis=x.ndim - 1)` is axis -1 of `x`, `axis=-x.ndim` its first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.values import is_integer

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.interpreter import Interpreter

_FIRST = 1
"""Stands for the first axis, where all others are counted from the end and negative."""


def note(it: Interpreter, op: Op) -> None:
    """Remember of which array a number names an axis, and which."""
    if op.function == "ndim" and len(op.operands) == 1:
        it.ends[op.result] = (op.operands[0], 0)
    elif it.ends and op.operands and (found := it.ends.get(op.operands[0])) is not None:
        array, end = found
        less = op.arguments.get("y")
        if op.function == "subtract" and is_integer(less) and end <= 0:
            it.ends[op.result] = (array, end - less)
        elif op.function == "negative" and not end:
            it.ends[op.result] = (array, _FIRST)


def counted(it: Interpreter, arguments: Mapping[str, Argument]) -> Mapping[str, Argument]:
    """Return the arguments of a call with the axis in the place of the number that was computed for it."""
    axis = arguments.get("axis")
    array, end = it.ends.get(axis, (None, 0)) if isinstance(axis, Value) else (None, 0)
    if array is None or not end or array is not next(iter(arguments.values())):
        return arguments
    return {**arguments, "axis": 0 if end == _FIRST else end}
