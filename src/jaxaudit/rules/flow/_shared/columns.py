"""Columns met by rows: `(n, 1)`, left over by a layer or found in data, with `(n,)` silently makes `(n, n)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.dims import ONE, same
from jaxaudit.analyses.labels import one_axis
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import holders, walk
from jaxaudit.analyses.shapes import ShapeFact, Shapes
from jaxaudit.analyses.shapes.broadcast import shape_text
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import ADDITIONS, AVERAGES
from jaxaudit.ir.interfaces import given_as, inside_of
from jaxaudit.ir.ops import BODIES, MAPPED, PASSED_ON, REARRANGED
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Obligation, Severity, Step, proved, unknown
from jaxaudit.rules.flow._shared.by_rows import are_made_alike, rows_of
from jaxaudit.rules.flow._shared.lined_up import Side, as_written, elementwise, stretched_operands

_HIDES = ADDITIONS | AVERAGES | {"norm"}


def columns_met(flow: Flow, shapes: Shapes) -> Iterator[tuple[Op, Obligation]]:
    """Return every op where a column is combined with a row as long as it, and what is to be said of that."""
    stretched = stretched_operands(flow.program)
    for op in elementwise(flow.program):
        for (value, column), (other, row) in _pairs(op, shapes, stretched):
            source = _source(flow, value, shapes)
            squeezed = _squeezed(flow, other, value, shapes)
            if squeezed is not None and not _is_left_over(flow.maker(source)):
                yield op, _lost(op, squeezed, column, row)
            else:
                yield op, _judge(op, source, ((value, column), (other, row)), flow, shapes)


def _judge(op: Op, source: Value, met: tuple[Side, Side], flow: Flow, shapes: Shapes) -> Obligation:
    maker, ((value, column), (other, row)) = flow.maker(source), met
    if _is_left_over(maker):
        return _finding(op, source, maker, column, row, Severity.ERROR)
    given = maker is not None and (maker.name in REARRANGED or _adds_axis(maker))
    if given and source not in rows_of(flow, other):
        return proved(op.span, f"{shape_text(column.dims)} was given its last axis on purpose")
    hidden = _hiding_reduction(op, flow, shapes) is not None
    pairs = given and (not hidden or are_made_alike(flow, value, other))
    if pairs or (maker is not None and maker.name == "array.reduce"):
        return unknown(op.span, f"whether {shape_text(column.dims)} is to meet every entry is not known")
    return _finding(op, source, maker, column, row, Severity.ERROR if hidden else Severity.WARNING)


def _pairs(op: Op, shapes: Shapes, stretched: Mapping[Value, Op]) -> Iterator[tuple[Side, Side]]:
    for context in shapes.contexts(op):
        given = [as_written(op, value, context, shapes, stretched) for value in op.operands]
        yield from ((column, row) for column in given for row in given if _is_column_of(column[1], row[1]))


def _squeezed(flow: Flow, row: Value, column: Value, shapes: Shapes) -> Op | None:
    """Return the bare `squeeze` that took the last axis of a row away, where the column is data that still has it."""
    made, data = flow.maker(row), flow.maker(column)
    if made is None or made.name != "array.squeeze" or made.argument("axis") is not None or not made.operands:
        return None
    before = shapes.of(made.operands[0]).dims
    # A column that was drawn or came from outside has its axis by nature; one that was expanded has it on purpose.
    plain = data is None or data.name in ("key.draw", "array.create", "py.element", "py.item", "scan")
    kept = before is not None and before[-1:] == (ONE,) and not (data is not None and _adds_axis(data))
    return made if plain and kept else None


def _adds_axis(op: Op) -> bool:
    """Whether an op is `x[:, None]`."""
    index = op.arguments.get("index")
    return op.name == "py.item" and None in index_parts(index)


def _is_column_of(column: ShapeFact, row: ShapeFact) -> bool:
    """Whether one array is the other with an axis of size one at the end."""
    if column.dims is None or row.dims is None or len(column.dims) != len(row.dims) + 1 or not row.dims:
        return False
    inner = zip(column.dims, row.dims, strict=False)
    alike = all(same(a, b) or one_axis(a.labels, b.labels) for a, b in inner)
    return column.dims[-1] == ONE and row.dims[-1] != ONE and alike


def _source(flow: Flow, column: Value, shapes: Shapes) -> Value:
    """Return the value by which a column got its last axis, from wherever it was handed on.

    Of several that it was computed from, one with an axis that was left over says more than one that was given it.
    """

    def before(value: Value) -> Sequence[Value]:
        maker = flow.own_maker(value)
        if maker is None:
            outside = _outside(flow, value, shapes)
            return () if outside is None else (outside,)
        if maker.name in BODIES or maker.name in MAPPED:
            return [one for _, one in inside_of(maker, maker.results.index(value))][:1]
        keeps = maker.name in PASSED_ON or maker.name in ("array.map", "array.normalise")
        return _columns_in(maker, shapes) if keeps and not _is_left_over(maker) else ()

    ends = [value for value in walk((column,), before) if not before(value)]
    return next((value for value in ends if _is_left_over(flow.maker(value))), ends[0] if ends else column)


def _is_left_over(maker: Op | None) -> bool:
    """Whether an op is a product, a layer, or takes one entry of each row: they leave an axis of size one over."""
    if maker is None:
        return False
    taken = maker.name == "array.gather" and maker.function == "take_along_axis"
    return taken or maker.name == "array.dot" or maker.qualified.endswith(".__call__")


def _columns_in(maker: Op, shapes: Shapes) -> Sequence[Value]:
    """Return the operands that a column comes from: the only one, or those with as many axes."""
    if len(maker.operands) == 1:
        return maker.operands
    rank = len(shapes.of(maker.results[0]).dims or ())
    return [value for value in maker.operands if rank and len(shapes.of(value).dims or ()) == rank]


def _outside(flow: Flow, param: Value, shapes: Shapes) -> Value | None:
    """Return what a parameter stands for outside its region; of several callers, the one that gives a column."""
    region = flow.places.owner.get(param)
    ops = holders(flow, region) if region is not None else ()
    given = [
        one
        for op in ops
        if region is not None and (op.name in BODIES or op.name == "scan")
        for one in given_as(op, region, param)
    ]
    columns = [one for one in given if len(ops) == 1 or (shapes.of(one).dims or ())[-1:] == (ONE,)]
    return columns[0] if columns else None


def _finding(
    op: Op, source: Value, maker: Op | None, column: ShapeFact, row: ShapeFact, severity: Severity
) -> Obligation:
    made = shape_text((*(row.dims or ()), *(row.dims or ())[-1:]))
    return Obligation(
        op.span,
        severity=severity,
        message=f"{shape_text(column.dims)} meets {shape_text(row.dims)} and is silently broadcast to {made}",
        current="every entry of the one is combined with every entry of the other",
        expected=f"both have shape {shape_text(row.dims)}",
        steps=(
            Step(
                source.span if maker is None else maker.span,
                f"this gives {shape_text(column.dims)}, with an axis of size 1 at the end",
            ),
        ),
        suggestion="drop the last axis with `[..., 0]` or `squeeze(axis=-1)`",
    )


def _lost(op: Op, squeezed: Op, column: ShapeFact, row: ShapeFact) -> Obligation:
    made = shape_text((*(row.dims or ()), *(row.dims or ())[-1:]))
    return Obligation(
        squeezed.span,
        message=f"`squeeze` leaves {shape_text(row.dims)}, which meets {shape_text(column.dims)} and makes {made}",
        current="the axis of size 1 is gone on one side alone, so every entry meets every other one",
        expected=f"both have shape {shape_text(column.dims)}",
        steps=(Step(op.span, "the two meet here"),),
        suggestion="leave the axis, or name the one that shall go: `squeeze(axis=...)`",
    )


def _hiding_reduction(op: Op, flow: Flow, shapes: Shapes) -> Op | None:
    """Return the reduction over everything that leaves no trace of the second axis."""

    def step(value: Value) -> Iterator[Value]:
        readers = flow.readers.get(value, ())
        return (made for one in readers if one.name == "array.map" and len(one.operands) == 1 for made in one.results)

    readers = (one for value in walk(op.results, step) for one in flow.readers.get(value, ()))
    return next((one for one in readers if one.function in _HIDES and _reduces_all(one, shapes)), None)


def _reduces_all(op: Op, shapes: Shapes) -> bool:
    """Whether a reduction names no axis, or all of them, as a trace does."""
    axis, dims = op.argument("axis"), shapes.of(op.operands[0]).dims
    return axis is None or (isinstance(axis, tuple) and dims is not None and len(axis) == len(dims))
