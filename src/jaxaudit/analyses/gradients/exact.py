"""What JAX itself says of a gradient: where it found none, the trace holds a constant zero."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.ops import MOVING

_DEEPEST = 12


def surely_zero(op: Op, made_by: Mapping[Value, Op]) -> set[int] | None:
    """Return the positions of the parameters whose gradient is zero in a trace; None where it cannot be read off."""
    found, whose = op.gradients, op.wrt
    if not found or whose is None:
        return None
    results = op.regions[0].results
    return {whose[at] for at in found if at < len(results) and _is_zero(results[at], made_by, 0)} - {None}


def _is_zero(argument: Argument, made_by: Mapping[Value, Op], depth: int) -> bool:
    if not isinstance(argument, Value):
        return isinstance(argument, int | float) and argument == 0
    op = made_by.get(argument)
    if op is None or depth > _DEEPEST:
        return False
    if op.name == "py.const":
        return op.constant == 0
    if op.name == "array.create":
        return op.function in ("zeros", "zeros_like")
    if op.name in MOVING:
        source = next(iter(op.arguments.values()), None)
        return source is not None and _is_zero(source, made_by, depth + 1)
    inner = op.regions[0].results if op.name in ("py.call", "jit", "checkpoint") else ()
    at = op.results.index(argument)
    return at < len(inner) and _is_zero(inner[at], made_by, depth + 1)
