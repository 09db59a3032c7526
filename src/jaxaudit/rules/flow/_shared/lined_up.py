"""How the operands of an elementwise op line up: each axis with itself, with an axis of size one, or by accident."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from jaxaudit.analyses.dims import ONE, Dim, same
from jaxaudit.analyses.shapes import Context, ShapeFact, Shapes
from jaxaudit.analyses.shapes.broadcast import shape_text
from jaxaudit.analyses.shapes.facts import Dims, common_outline
from jaxaudit.analyses.shapes.outlines import for_few_and_many
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, named, proved, unknown

Side = tuple[Value, ShapeFact]
"""An operand and its shape as it was written."""


def elementwise(program: Program) -> Iterator[Op]:
    """Return every op that computes element by element of several operands, as the user wrote it."""
    met = program.named("array.map", "array.select")
    return (op for op in met if len(op.operands) > 1 and not op.is_derived and not op.library)


def stretched_operands(program: Program) -> Mapping[Value, Op]:
    """Return the values that a jaxpr makes of operands to stretch them, with the ops that do."""
    return {op.results[0]: op for op in program.named("array.expand") if op.api}


def as_written(
    op: Op, value: Value, context: Context, shapes: Shapes, stretched: Mapping[Value, Op]
) -> tuple[Value, ShapeFact]:
    """Return an operand before broadcasting; a jaxpr stretches operands by ops of their own, under the same name."""
    maker = stretched.get(value)
    if maker is None or not maker.operands or (maker.span, maker.api) != (op.span, op.api):
        return value, context.of(value)
    return maker.operands[0], shapes.of(maker.operands[0])


def lined_up(program: Program, shapes: Shapes, judged: Collection[Op]) -> Iterator[Obligation]:
    """List every meeting of two arrays but those that were judged already."""
    stretched = stretched_operands(program)
    for op in elementwise(program):
        for context in () if op in judged else shapes.contexts(op):
            sides = [as_written(op, value, context, shapes, stretched) for value in op.operands]
            if any(fact.dims or fact.outline for _, fact in sides):
                yield _judge(op, sides)


def _judge(op: Op, sides: Sequence[Side]) -> Obligation:
    if common_outline(fact for _, fact in sides) is not None:
        return proved(op.span, "its operands have one and the same shape")
    if tries := for_few_and_many([fact for _, fact in sides]):
        if all(_are_side_by_side(shapes) for shapes in tries):
            return proved(op.span, "the axes of its operands are lined up one by one, however many there are")
    for value, fact in sides:
        if fact.dims is None:
            return unknown(op.span, f"how many axes {named(value)} has is not known")
    met = sorted((fact.dims for _, fact in sides if fact.dims), key=len)
    if len(met) < 2:
        return proved(op.span, "only one of its operands has axes")
    reasons = [_lands(low, met[-1]) for low in met[:-1]]
    doubt = next((why for holds, why in reasons if not holds), None)
    return proved(op.span, reasons[0][1]) if doubt is None else unknown(op.span, doubt)


def _are_side_by_side(shapes: Sequence[Dims]) -> bool:
    """Whether arrays have as many axes, each of them one size or 1."""
    met = [dims for dims in shapes if dims]
    columns = zip(*met, strict=False)
    return len({len(dims) for dims in met}) == 1 and all(_go_together(column) for column in columns)


def _go_together(sizes: Sequence[Dim]) -> bool:
    wide = [size for size in sizes if size != ONE]
    return all(same(wide[0], size) for size in wide[1:])


def _lands(low: Dims, high: Dims) -> tuple[bool, str]:
    """Whether an array lands where it belongs on one with as many axes or more, and why."""
    shapes = f"{shape_text(low)} and {shape_text(high)}"
    tail = high[len(high) - len(low) :]
    pairs = list(zip(low, tail, strict=True))
    if not all(same(one, other) or ONE in (one, other) for one, other in pairs):
        return False, f"whether the sizes of {shapes} are equal is not known"
    if len(low) == len(high):
        return True, f"the axes of {shapes} are lined up one by one"
    if any(one != ONE and other == ONE for one, other in pairs):
        return False, f"{shapes} are both stretched, and whether that is meant is not known"
    firsts = high[: len(high) - len(low)]
    if any(same(one, other) for one in low for other in firsts if one != ONE):
        return False, f"{shape_text(low)} would fit other axes of {shape_text(high)} too"
    return True, f"{shape_text(low)} fits no other axes of {shape_text(high)}"
