"""Arrays met by a reduction of themselves that lost its axis: `x - x.max(axis=1)` lines up with the wrong axis."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import differ, same
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import Dims
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import ROOTS
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.rules.base import Obligation, Severity, Step, named


def met_themselves(program: Program, flow: Flow, shapes: Shapes) -> Iterator[tuple[Op, Obligation]]:
    """Return every op where an array meets its own reduction over an axis other than the first."""
    if program.front_end == "jaxpr":
        return
    for op in program.named("array.map"):
        if len(op.operands) == 2:
            for whole, part in (op.operands, op.operands[::-1]):
                reduction = _reduction(part, flow)
                if reduction is not None and _is_one(whole, reduction.operands[0], flow):
                    yield from ((op, one) for one in _judge(op, whole, reduction, shapes))


def _reduction(value: Value, flow: Flow) -> Op | None:
    """Return the reduction that a value is, with constants added and roots taken."""
    *_, source = _elementwise(value, flow)
    op = flow.maker(source)
    reduces = op is not None and (op.name == "array.reduce" or (op.name == "array.linalg" and op.function in ROOTS))
    if op is None or not reduces or not op.operands or op.argument("keepdims"):
        return None
    return op if isinstance(op.argument("axis"), int) and not op.has("*", "**") else None


def _elementwise(value: Value, flow: Flow) -> Iterator[Value]:
    """Return a value and those that it was computed from, each element by itself."""

    def before(one: Value) -> tuple[Value, ...]:
        op = flow.maker(one)
        keeps = op is not None and (op.name == "array.map" or op.name in PASSED_ON)
        return op.operands if op is not None and keeps and len(op.operands) == 1 else ()

    return walk((value,), before)


def _is_one(whole: Value, reduced: Value, flow: Flow) -> bool:
    """Whether the array that is reduced is the other operand, or computed of it element by element."""
    return whole in _elementwise(reduced, flow) or reduced in _elementwise(whole, flow)


def _judge(op: Op, whole: Value, reduction: Op, shapes: Shapes) -> Iterator[Obligation]:
    for context in shapes.contexts(op) or (None,):
        dims, axis = None if context is None else context.of(whole).dims, reduction.argument("axis")
        if not isinstance(axis, int) or (dims is None and axis < 1) or (dims is not None and len(dims) < 2):
            continue
        place = axis if dims is None or axis >= 0 else axis + len(dims)
        doubt = None if dims is None or place >= len(dims) else _doubt(dims, place)
        if place >= 1 and doubt != "none":
            yield _finding(op, whole, reduction, axis, sure=doubt is None)
            return


def _doubt(dims: Dims, place: int) -> str | None:
    """Return `none` where sizes show a mistake already or a matrix is square on purpose, `some` where it may be."""
    pairs = [(dims[at], dims[at + 1]) for at in range(place)]
    if any(differ(one, other) for one, other in pairs):
        return "none"
    if all(same(one, other) for one, other in pairs):
        return "some" if all(one.constant is not None for one, _ in pairs) else "none"
    return None


def _finding(op: Op, whole: Value, reduction: Op, axis: int, *, sure: bool) -> Obligation:
    name = named(whole, "an array")
    return Obligation(
        op.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"{name} meets its own `{reduction.function}` over axis {axis}, which has lost that axis",
        current="broadcasting starts from the last axis, so each result lands on the wrong row, or JAX raises",
        expected="each result stays with what it was computed from",
        steps=(Step(reduction.span, f"axis {axis} is gone after this"),),
        suggestion=f"reduce with `keepdims=True`, or put the axis back with `jnp.expand_dims(..., {axis})`",
    )
