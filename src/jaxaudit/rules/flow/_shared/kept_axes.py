"""Reductions of one array over one axis that meet, where one has kept the axis and the other has lost it.

`x.max(-1, keepdims=True) + jnp.log(jnp.exp(...).sum(-1))` is a column that meets a row: each row of `x` with each one.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import ADDITIONS
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.rules.base import Obligation, Step, named
from jaxaudit.rules.flow._shared.lined_up import elementwise

_PASSED = PASSED_ON | {"array.map"}
_LENGTHS = ADDITIONS | {"norm"}
_TAKES_OUT = ("py.item", "array.squeeze", "array.reshape", "py.to_python")


def kept_and_lost(flow: Flow, shapes: Shapes) -> Iterator[tuple[Op, Obligation]]:
    """Return every op where the reduction of an array that kept an axis meets one of it that has lost it."""
    for op in elementwise(flow.program):
        operands = op.operands if len(op.operands) == 2 else ()
        for column, row in zip(operands, operands[::-1], strict=True):
            kept, lost = _reduction(column, flow, keeps=True), _reduction(row, flow, keeps=False)
            if (
                kept is not None
                and lost is not None
                and _are_of_one(kept, lost, flow)
                and _is_wrong(op, kept, flow, shapes)
            ):
                yield op, _finding(op, column, row, kept, lost)


def _reduction(value: Value, flow: Flow, *, keeps: bool) -> Op | None:
    """Return the reduction that a value is, or is computed from element by element, where it keeps its axis or not."""
    op = flow.maker(value)
    while op is not None and op.name in _PASSED and len(op.operands) == 1:
        op = flow.maker(op.operands[0])
    reduces = op is not None and op.name in ("array.reduce", "array.linalg") and bool(op.operands)
    if op is None or not reduces or not isinstance(op.argument("axis"), int) or op.has("*", "**"):
        return None
    said = op.argument("keepdims")
    return op if (said is True) == keeps and (said is None or isinstance(said, bool)) else None


def _are_of_one(kept: Op, lost: Op, flow: Flow) -> bool:
    """Whether both are about one array, along one axis, and tell of two things.

    The squares of the lengths of all points, as a column and as a row, make the distances of all pairs.
    """
    lengths = {kept.function, lost.function} <= _LENGTHS
    if kept.argument("axis") != lost.argument("axis") or kept.function == lost.function or lengths:
        return False
    return _is_of(lost.operands[0], kept.operands[0], kept, flow) or _is_of(
        kept.operands[0], lost.operands[0], lost, flow
    )


def _is_of(value: Value, whole: Value, reduction: Op, flow: Flow) -> bool:
    """Whether a value is an array, or computed of it, of its reduction and of numbers, element by element."""
    pending, found = [value], False
    for one in pending:
        if one is whole:
            found = True
            continue
        op = flow.maker(one)
        if op is reduction and op.argument("keepdims"):
            continue
        if op is None or op.name not in _PASSED:
            return False
        pending += (operand for operand in op.operands if operand not in pending)
    return found


def _is_wrong(op: Op, kept: Op, flow: Flow, shapes: Shapes) -> bool:
    """Whether a row beside a column is no row of one alone, and JAX does not refuse it for its sizes."""
    axis, contexts = kept.argument("axis"), shapes.contexts(kept)
    known = [context.of(kept.operands[0]).dims for context in contexts] or [None]
    if not isinstance(axis, int) or axis == 0 or any(dims is not None and len(dims) != 2 for dims in known):
        return False
    # Of an array with one axis both are one number, and whoever knows that takes it out.
    taken_out = any(one.name in _TAKES_OUT for one in flow.readers.get(op.result, ()))
    return not (None in known and axis < 0 and taken_out)


def _finding(op: Op, column: Value, row: Value, kept: Op, lost: Op) -> Obligation:
    first, second = named(column, "one operand"), named(row, "the other one")
    return Obligation(
        op.span,
        message=f"`{kept.function}` has kept the axis that `{lost.function}` of the same array has lost",
        current=f"{first} is a column and {second} a row: each entry of one meets every entry of the other",
        expected="each entry meets the one of its own row",
        steps=(Step(kept.span, "the axis stays, with size 1"), Step(lost.span, "the axis is gone after this")),
        suggestion="reduce both with `keepdims=True`, or neither",
    )
