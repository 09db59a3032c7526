"""Which arrays differ in size from turn to turn of a loop, or have as many elements as data say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.tracing.facts import Kind, Trace, revised
from jaxaudit.analyses.tracing.items import fact_of
from jaxaudit.ir import Argument, Op
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import COUNTED, JOINS_END_TO_END, NOT_BROADCASTING, SIZED_BY_VALUES
from jaxaudit.ir.ops import REARRANGED
from jaxaudit.ir.values import index_parts
from jaxaudit.libraries.lookup import kind_of

_SIZES = ("shape", "N", "M", "num", "repeats", "reps")
_SIZED_ALIKE = REARRANGED | frozenset("array.map array.convert array.create array.join array.select array.at".split())
"""Ops that give as many elements as they are given."""


def sized_by_values(op: Op) -> bool:
    """Whether the values that an op is given say how many elements it gives, and no option fixes their number."""
    row = SIZED_BY_VALUES.get(op.function)
    if row is None or (op.function == "where" and not op.arguments.keys().isdisjoint(("x", "y"))):
        return False
    # How many places are left out says how many are left, and counts may all be within the least number of them.
    return op.function != "delete" and not op.has("minlength") and op.arguments.get(row[0]) is None


def resized(fact: Trace, op: Op, operands: Sequence[Trace], read: Read[Trace]) -> Trace:
    """Return the fact of an array with what is known of its size: whether that differs, or may do so."""
    varies = _varies(op, operands, read)
    if varies is None:
        return revised(fact, varies=False, kind=Kind.UNKNOWN if fact.kind is Kind.CONCRETE else fact.kind)
    return revised(fact, varies=varies)


def _varies(op: Op, operands: Sequence[Trace], read: Read[Trace]) -> bool | None:
    """Whether an array's shape differs from turn to turn: it is sized so, or one of its parts is; None if it may."""
    sized = _is_sized(op)
    makes = sized or op.name in ("array.create", "array.numpy")
    if sized_by_values(op) or (makes and any(fact_of(op.arguments.get(role), read).turn for role in _SIZES)):
        return True
    if makes and op.function in COUNTED:
        start, stop = (fact_of(op.arguments.get(end), read) for end in ("start", "stop"))
        # A window whose two ends move may keep its size, and an end of which nothing is known may move along.
        return start.turn != stop.turn if start.kind is stop.kind is Kind.STATIC else None
    if sized or not any(one.varies for one in operands):
        return False
    kind = kind_of(op)
    if kind == "array.scatter":
        return operands[0].varies
    if kind == "array.reduce" and op.arguments.get("axis") is None:
        return False
    keeps = kind in _SIZED_ALIKE and op.function not in NOT_BROADCASTING
    return True if keeps and not _may_even_out(op, operands, read) else None


def _may_even_out(op: Op, operands: Sequence[Trace], read: Read[Trace]) -> bool:
    """Whether what differs from turn to turn may add up to one size: a part and what is left to it, or a padding."""
    padding = any(fact_of(part, read).turn for part in values_in(op.arguments.get("pad_width")))
    return padding or (op.function in JOINS_END_TO_END and sum(one.varies for one in operands) > 1)


def _is_sized(op: Op) -> bool:
    """Whether an array is given a shape in which no size is left to be found: `x.reshape(b * n, d)`."""
    shape = op.argument("shape", "newshape", "new_shape")
    return op.name == "array.reshape" and isinstance(shape, tuple) and -1 not in shape


def slides(index: Argument, read: Read[Trace]) -> bool:
    """Whether a slice's size differs from turn to turn; a window whose two ends move keeps its size."""
    parts = (part for part in index_parts(index) if isinstance(part, Mapping))
    ends = ([fact_of(part.get(end), read) for end in ("start", "stop")] for part in parts)
    # An end of which nothing is known may move along with the other.
    return any(one.turn != other.turn and one.kind is other.kind is Kind.STATIC for one, other in ends)
