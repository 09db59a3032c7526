"""Two arrays that were computed of one column, row by row, before one of them lost the last axis.

The column was given its axis before both were made of it, so the axis is no sign that all pairs are meant.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.ops import DERIVATIVES, KEEPING, MOVING

_ROW_BY_ROW = KEEPING | DERIVATIVES | {"array.map", "array.select", "array.normalise", "array.join", "py.item"}


def rows_of(flow: Flow, value: Value) -> Set[Value]:
    """Return what an array was computed from so that each row depends on one row alone, itself included."""

    def before(one: Value) -> Sequence[Value]:
        op = flow.own_maker(one)
        if op is not None and _multiplies_rows(op):
            return op.operands[:1]
        return behind(flow, one, lambda op: op.name in _ROW_BY_ROW or _is_mapped(flow, op))

    return set(walk((value,), before))


def are_made_alike(flow: Flow, first: Value, second: Value) -> bool:
    """Whether two arrays are computed by the same functions from what both are computed from.

    The difference of one thing in two forms is that of all pairs, and hardly ever a slip.
    """
    one, other = rows_of(flow, first), rows_of(flow, second)
    return _functions(flow, one - other) == _functions(flow, other - one)


def _functions(flow: Flow, values: Set[Value]) -> list[str]:
    makers = {op for value in values if (op := flow.own_maker(value)) is not None}
    return sorted(op.function or op.name for op in makers if op.name not in MOVING and not op.regions)


def _multiplies_rows(op: Op) -> bool:
    """Whether an op is the product of rows with a matrix."""
    return op.name == "array.dot" and op.function == "matmul" and len(op.operands) == 2


def _is_mapped(flow: Flow, op: Op) -> bool:
    """Whether an op works on one row at a time, since it stands in a function that is mapped over them."""
    around = flow.places.up(flow.places.region_of[op])
    return any(holder is not None and holder.name == "vmap" for _, holder in around)
