"""Arrays that meet in odd ways, are made and never filled, or are asked what cannot be."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import ONE, Dim
from jaxaudit.analyses.ranges import Ranges, range_text
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import COMPARISONS
from jaxaudit.ir.values import index_parts
from jaxaudit.reports.leads.base import Fact, Look


def axes_grow(look: Look) -> Iterator[Fact]:
    """List where two arrays of different rank meet and what comes out is larger than either.

    Who gives both sides an axis for the other, or one of them right there, means it.
    """
    shapes, flow = look.facts.get(Shapes), look.facts.flow
    for op in look.facts.program.named("array.map", "array.select"):
        given = [(value, dims) for value in op.operands if (dims := shapes.of(value).dims)]
        made = shapes.of(op.results[0]).dims if op.results else None
        if (
            len({len(dims) for _, dims in given}) < 2
            or not made
            or any(_is_expanded(flow.maker(one)) for one, _ in given)
        ):
            continue
        if all(_is_smaller(dims, made) for _, dims in given):
            sides = " with ".join(look.shown(value) for value, _ in given[:2])
            yield Fact(op.span, f"{sides} gives {look.shown(op.results[0])}: each is repeated along the other", 6)


def _is_smaller(dims: tuple[Dim, ...], made: tuple[Dim, ...]) -> bool:
    padded = (ONE,) * (len(made) - len(dims)) + dims
    return any(own == ONE and other != ONE for own, other in zip(padded, made, strict=True))


def _is_expanded(op: Op | None) -> bool:
    """Whether somebody gave an array one more axis, right before it meets another one: `x[:, None]`."""
    return op is not None and (
        op.name == "array.expand" or (op.name == "py.item" and None in index_parts(op.arguments.get("index")))
    )


def condition_decided(look: Look) -> Iterator[Fact]:
    """List the comparisons of computed values that always come out the same."""
    ranges, shapes = look.facts.find(Ranges), look.facts.get(Shapes)
    for op in look.facts.program.named("array.map"):
        # What a shape or a setting of Python decides is decided on purpose.
        arrays = [one for one in op.operands if shapes.of(one).dims is not None and shapes.of(one).number is None]
        if ranges is None or op.function not in COMPARISONS or not arrays or ranges.of(arrays[0]).constant is not None:
            continue
        truth = ranges.of(op.results[0]).constant
        if truth is not None:
            words, what = "always holds" if truth else "never holds", look.written(op.span)
            yield Fact(op.span, f"{f'`{what}`' if what else 'this'} {words}: {_bounds(op, ranges)}", 7)


def _bounds(op: Op, ranges: Ranges) -> str:
    sides = ((f"`{one.name}`" if one.name else "one side", range_text(ranges.of(one))) for one in op.operands)
    return ", ".join(f"{name} is {words}" for name, words in sides if words)


def buffer_unwritten(look: Look) -> Iterator[Fact]:
    """List the arrays of one number that are taken apart or indexed, and that nothing was written into."""
    flow = look.facts.flow
    for op in look.facts.program.named("array.create"):
        made = op.results[0] if len(op.results) == 1 and not _has_data(op) else None
        if made is None or not made.name:
            continue
        readers = list(flow.readers.get(made, ()))
        if readers and all(one.name in ("py.item", "array.gather", "py.return") for one in readers):
            if any(one.name != "py.return" for one in readers):
                yield Fact(
                    op.span, f"`{made.name}` is made here, read on line {readers[0].span.line}, and never written", 7
                )


def _has_data(op: Op) -> bool:
    """Whether an array is made of values, and not only of sizes."""
    return any(isinstance(one, Value) for one in op.arguments.values()) or not op.has("shape")
