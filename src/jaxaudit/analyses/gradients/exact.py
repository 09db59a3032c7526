"""What JAX itself says of a gradient: where it found none, the trace holds a constant zero."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.queries import last
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.interfaces import inside_of
from jaxaudit.ir.ops import MOVING


def surely_zero(op: Op, made_by: Mapping[Value, Op]) -> set[int] | None:
    """Return the positions of the parameters whose gradient is zero in a trace; None where it cannot be read off."""
    found, whose = op.gradients, op.wrt
    if not found or whose is None:
        return None
    results = op.regions[0].results
    return {whose[at] for at in found if at < len(results) and _is_zero(results[at], made_by)} - {None}


def _is_zero(value: Value, made_by: Mapping[Value, Op]) -> bool:
    given = last(value, lambda one: _source(one, made_by))
    maker = made_by.get(given) if isinstance(given, Value) else None
    if maker is None:
        return isinstance(given, int | float) and given == 0
    if maker.name == "py.const":
        return maker.constant == 0
    return maker.name == "array.create" and maker.function in ("zeros", "zeros_like")


def _source(given: Argument, made_by: Mapping[Value, Op]) -> Argument:
    """Return what a value is in a call, or has all its elements from."""
    op = made_by.get(given) if isinstance(given, Value) else None
    if op is None:
        return None
    if op.name in MOVING:
        return next(iter(op.arguments.values()), None)
    if op.name not in ("py.call", "jit", "checkpoint"):
        return None
    return next((value for _, value in inside_of(op, op.results.index(given))), None)
