"""Which ops make arrays of booleans."""

from __future__ import annotations

from collections.abc import Sequence

from jaxaudit.analyses.tracing.facts import Trace
from jaxaudit.ir import Argument, Op
from jaxaudit.ir.functions import ASSERTIONS, LOGIC, TRUTHS
from jaxaudit.ir.ops import REARRANGED, SELECTED


def makes_mask(op: Op, operands: Sequence[Trace]) -> bool:
    """Whether an op makes an array of booleans."""
    function = op.function
    if function in TRUTHS or function in ASSERTIONS:
        return True
    if op.name == "array.convert":
        return _boolean_type(op.arguments.get("dtype", op.qualified))
    if op.name == "array.create":
        return _boolean_type(op.arguments.get("dtype"))
    keeps = function in LOGIC or op.name in REARRANGED or op.name in SELECTED or op.name == "array.join"
    return keeps and bool(operands) and all(one.mask for one in operands)


def _boolean_type(dtype: Argument) -> bool:
    return isinstance(dtype, str) and dtype.rpartition(".")[2] in ("bool", "bool_")
