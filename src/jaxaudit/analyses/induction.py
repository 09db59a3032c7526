"""Values that a loop moves on by the same amount in every turn: the write position of a buffer, a count."""

from __future__ import annotations

from collections.abc import Callable

from jaxaudit.analyses.dims import Dim, constant
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import behind, last, nothing
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.regions import scan_length
from jaxaudit.ir import Argument, Value
from jaxaudit.ir.functions import SUMS_OF_TWO
from jaxaudit.ir.interfaces import Carried, Loop
from jaxaudit.ir.ops import CALLS, KEEPING
from jaxaudit.ir.record import record
from jaxaudit.ir.types import Exit

Number = Callable[[Argument], Dim | None]
"""Gives the integer that an argument is."""


@record
class Induction:
    """A carried value that grows by a constant in each turn of a loop whose turns are counted."""

    carried: Carried
    step: Dim
    turns: Dim
    surely: bool
    """Whether nothing inside ends the loop before its last turn."""


def induction(loop: Loop, value: Value, flow: Flow, shapes: Shapes, number: Number) -> Induction | None:
    """Return how a loop moves on one of its carried values, named by its parameter or by its result."""
    for one in loop.carried:
        result = loop.op.results[one.position] if one.position < len(loop.op.results) else None
        if value is one.param or value is result:
            step, turns = _step(loop, one, flow, number), turns_of(loop, shapes, number)
            if step is None or turns is None or not turns.known:
                return None
            return Induction(one, step, turns, not _ends_early(loop))
    return None


def turns_of(loop: Loop, shapes: Shapes, number: Number) -> Dim | None:
    """Return how many turns a loop takes; None where that is not known."""
    op = loop.op
    if op.trips is not None:
        return constant(op.trips)
    if op.name == "scan":
        return scan_length(op, shapes.of)
    if op.name != "fori" or len(op.operands) < 2:
        return None
    given = (op.arguments.get("lower", op.operands[0]), op.arguments.get("upper", op.operands[1]))
    first, end = (constant(one) if isinstance(one, int) else number(one) for one in given)
    return None if first is None or end is None else end - first


def _step(loop: Loop, one: Carried, flow: Flow, number: Number) -> Dim | None:
    """Return what a turn adds to what it was given."""
    if one.position >= len(loop.body.results):
        return None
    op = flow.maker(same_number(loop.body.results[one.position], flow))
    if op is None or op.name != "array.map" or op.function not in SUMS_OF_TWO:
        return None
    x, y = op.arguments.get("x"), op.arguments.get("y")
    if op.function == "add" and not _is(x, one.param, flow):
        x, y = y, x
    by = number(y) if _is(x, one.param, flow) else None
    return by if by is None or op.function == "add" else -by


def _is(argument: Argument, param: Value, flow: Flow) -> bool:
    return isinstance(argument, Value) and same_number(argument, flow) is param


def same_number(value: Value, flow: Flow) -> Value:
    """Return what a value was called first: outside of calls, and before it was converted or given axes."""
    return last(value, lambda one: _before(one, flow))


def _before(value: Value, flow: Flow) -> Value | None:
    op = flow.own_maker(value)
    if op is not None and not op.regions:
        return next(iter(op.operands), None) if op.name in KEEPING else None
    entry = flow.entered(value)
    holder = op if entry is None else entry.op
    sources = behind(flow, value, nothing) if holder is not None and holder.name in CALLS else ()
    return sources[0] if len(sources) == 1 else None


def _ends_early(loop: Loop) -> bool:
    return any(inner.exit is not Exit.FALL for op in loop.body.walk() for inner in op.regions)
