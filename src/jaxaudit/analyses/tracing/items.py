"""Lists and tuples that operators join, repeat or compare."""

from __future__ import annotations

from collections.abc import Sequence

from jaxaudit.analyses.tracing.facts import Kind, Trace
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import COMPARISONS, EQUALITIES

_NO_LISTS = {"add": ("array", "numpy", "shape", "number"), "multiply": ("array", "numpy")}
"""What makes an operator with a list or tuple on the other side no joining or repeating of it."""


def joins_items(op: Op, operands: Sequence[Trace]) -> bool:
    """Whether `+` or `*` has a list or tuple on one side, and on the other nothing that takes it for an array."""
    sides = list(op.arguments.values())
    if op.qualified not in _NO_LISTS or not any(isinstance(one, tuple) for one in sides):
        return False
    facts = dict(zip(op.operands, operands, strict=False))
    others = [facts[one] for one in sides if isinstance(one, Value) and one in facts]
    return not any(one.what in _NO_LISTS[op.qualified] for one in others)


def joined_items(op: Op, operands: Sequence[Trace]) -> Trace:
    """Return a list that is longer: Python joins it, so nothing in it is traced that was not so before."""
    facts = dict(zip(op.operands, operands, strict=False))
    others = [facts[one].what for one in op.arguments.values() if isinstance(one, Value) and one in facts]
    what = "items" if all(one in ("items", "number") for one in others) else ""
    traced = next((one for one in operands if one.kind is Kind.TRACED), None)
    if traced is not None:
        return Trace(Kind.TRACED, what, by=traced.by, way=traced.way)
    kinds = [one.kind for one in operands]
    kind = next((one for one in (Kind.UNKNOWN, Kind.CONCRETE) if one in kinds), Kind.STATIC)
    return Trace(kind, what)


def compares_items(op: Op, operands: Sequence[Trace]) -> bool:
    """Whether a list or tuple is compared with what is no array for sure: arrays of JAX refuse that."""
    compares = op.function in COMPARISONS and any(isinstance(one, tuple) for one in op.arguments.values())
    return compares and not any(one.what in ("array", "numpy", "shape", "number") for one in operands)


def may_be_structural(op: Op, operands: Sequence[Trace]) -> bool:
    """Whether an operator may compare or join containers instead of computing with arrays."""
    if op.function not in EQUALITIES | {"add"} or any(one.what == "array" for one in operands):
        return False
    others = [argument for argument in op.arguments.values() if not isinstance(argument, Value)]
    return not any(isinstance(argument, (bool, int, float, complex)) for argument in others)
