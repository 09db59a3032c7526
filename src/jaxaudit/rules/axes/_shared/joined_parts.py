"""Joins of an array with a few of its own rows, along an axis that leaves the others to be equal.

`jnp.stack([x[:1], x])` needs an `x` of one row, whatever rank it has: nobody would cut it then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.axes.normalised import same_values
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import FILLED_LIKE
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts, is_whole


@record
class Piece:
    """Some rows of an array along one axis, as many whatever its size, and the array itself, which are joined."""

    part: Op
    axis: int
    whole: Value


def piece_joined_with_whole(op: Op, flow: Flow) -> Piece | None:
    """Return what is joined with a piece of it along another axis than that of the piece."""
    along = _axis(op)
    parts = list(values_in(next(iter(op.arguments.values()), None)))
    for part in parts if along is not None else ():
        cut = _cut(part, flow)
        for other in parts:
            if cut is None or other is part or cut[1] == along:
                continue
            if any(same_values(one, cut[0].operands[0], flow) for one in _alike(other, flow)):
                return Piece(*cut, other)
    return None


def _axis(op: Op) -> int | None:
    """Return the axis of two arrays that need not be equal: -1 for none; None where it is not known."""
    given = op.arguments.get("axis", 0)
    if not isinstance(given, int) or given < 0 or op.function not in ("stack", "concatenate"):
        return -1 if isinstance(given, int) and op.function == "stack" else None
    return -1 if op.function == "stack" else given


def _alike(value: Value, flow: Flow) -> Iterator[Value]:
    """Return a value and those of its shape that it was made of."""

    def before(one: Value) -> tuple[Value, ...]:
        op = flow.maker(one)
        filled = op is not None and op.name == "array.create" and op.function in FILLED_LIKE and not op.has("shape")
        keeps = op is not None and (op.name == "array.map" or op.name in PASSED_ON or filled)
        return op.operands if op is not None and keeps and len(op.operands) == 1 else ()

    return walk((value,), before)


def _cut(value: Value, flow: Flow) -> tuple[Op, int] | None:
    """Return the index that cuts as many rows off an array whatever its size, with their axis."""
    *_, source = _alike(value, flow)
    op = flow.maker(source)
    if op is None or op.name != "py.item" or not op.operands:
        return None
    index = index_parts(op.arguments.get("index"))
    few = [at for at, part in enumerate(index) if _is_few(part)]
    return (op, few[0]) if len(few) == 1 and all(at in few or is_whole(part) for at, part in enumerate(index)) else None


def _is_few(part: Argument) -> bool:
    """Whether a slice ends at a fixed place from the front, or begins at one from the back."""
    if not isinstance(part, Mapping) or part.get("step") not in (None, 1):
        return False
    start, stop = part.get("start"), part.get("stop")
    first = isinstance(stop, int) and stop > 0 and (start is None or (isinstance(start, int) and 0 <= start < stop))
    return first or (stop is None and isinstance(start, int) and start < 0)
