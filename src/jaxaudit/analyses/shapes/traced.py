"""What the exact types of a traced op tell without a closer look: JAX accepted it, so sizes that meet in it fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxaudit.analyses.shapes.transfer.maps import NOT_OPERANDS
from jaxaudit.analyses.shapes.transfer.rarer import is_usual
from jaxaudit.analyses.shapes.transfer.table import TABLE
from jaxaudit.ir import ArrayType, Op, Value
from jaxaudit.ir.functions import NOT_BROADCASTING

Types = Mapping[Value, ArrayType]

_OPERANDS = (Value, int, float)


def sizes_meet(op: Op, types: Types) -> bool | None:
    """Whether sizes meet in an op that JAX traced; None where that takes a closer look."""
    if op.regions:
        return None if op.name in ("vmap", "pmap") else False
    if op.name not in TABLE:
        return False
    ask = _MEET.get(op.name)
    return None if ask is None else ask(op, types)


def _operands_meet(op: Op, types: Types) -> bool | None:
    """Whether the operands of an elementwise op have sizes that meet; a number goes with everything."""
    if sum([value in types and bool(types[value].shape) for value in op.operands]) < 2:
        return False
    given = [value for name, value in op.arguments.items() if name not in NOT_OPERANDS and value is not None]
    usual = bool(given) and op.function not in NOT_BROADCASTING and not op.is_operator and is_usual(op)
    if not usual or op.has("*", "**") or not all(isinstance(one, _OPERANDS) for one in given):
        return None
    return sum([isinstance(one, Value) and bool(types[one].shape) for one in given]) > 1


def _cases_meet(op: Op, types: Types) -> bool | None:
    return _operands_meet(op, types) if op.function == "where" and op.has("x", "y") else None


def _joined_meet(op: Op, types: Types) -> bool | None:
    arrays = op.argument("arrays")
    if op.function != "concatenate" or not isinstance(arrays, tuple):
        return None
    return len(arrays) > 1 if all(isinstance(one, Value) and bool(types[one].shape) for one in arrays) else None


def _product_meets(op: Op, types: Types) -> bool | None:
    sides = list(op.arguments.values())[:2]
    if op.function != "dot_general" or "dimension_numbers" not in op.arguments or len(sides) < 2:
        return None
    return all(isinstance(one, Value) and types[one].shape for one in sides)


def _is_reshaped(op: Op, types: Types) -> bool | None:
    return True if op.function == "reshape" and _is_told(op, "shape", "new_sizes") else None


def _is_expanded(op: Op, types: Types) -> bool | None:
    if op.function == "expand_dims":
        return False
    return True if op.function == "broadcast_to" and _is_told(op, "shape") else None


def _is_told(op: Op, *names: str) -> bool:
    """Whether a shape is given in numbers, one of which may be left open."""
    shape = op.argument(*names)
    return isinstance(shape, tuple) and all(type(size) is int for size in shape)


def _never(op: Op, types: Types) -> bool:
    """Sizes could only clash here, with axes that the operand does not have."""
    return False


_MEET: Mapping[str, Callable[[Op, Types], bool | None]] = {
    "array.map": _operands_meet,
    "array.dot": _product_meets,
    "array.join": _joined_meet,
    "array.reshape": _is_reshaped,
    "array.select": _cases_meet,
    "array.expand": _is_expanded,
    **dict.fromkeys(
        """array.convert array.create array.move array.order array.permute array.reduce array.squeeze grad.stop
        py.const""".split(),
        _never,
    ),
}
