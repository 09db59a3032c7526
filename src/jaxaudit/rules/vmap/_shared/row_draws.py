"""Numbers drawn for each row of an element, where the function that they go to takes one for all rows elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.axes.mapped import mapped_ops
from jaxaudit.analyses.axes.meetings import taken_sides
from jaxaudit.analyses.dims import ONE, same
from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.queries import ahead, nothing, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import Dims, ShapeFact
from jaxaudit.analyses.shapes.mapped import axes_of
from jaxaudit.ir import Op, Value
from jaxaudit.rules.base import Obligation, Step, named
from jaxaudit.spans import Span


def drawn_for_rows(facts: Facts) -> Iterator[Obligation]:
    """Return every draw of a number for each row under a `vmap` whose reader gets one number for all rows elsewhere."""
    shapes, calls = facts.get(Shapes), _calls(facts)
    for op in mapped_ops(facts):
        dims = shapes.of(op.result).dims if op.name == "key.draw" and len(op.results) == 1 else None
        if dims is None or not _is_column(dims) or not _maps_examples(op, dims, facts):
            continue
        drawn = set(walk(op.results, lambda one: ahead(facts.flow, one, nothing)))
        pairs = ((call, value) for call in _readers(drawn, facts) for value in call.operands if value in drawn)
        for call, value in pairs:
            other = next((one for one in calls[_callee(call)] if _shares(call, one, value, shapes)), None)
            if other is not None:
                yield _finding(op, call, other)
                break


def _is_column(dims: Dims) -> bool:
    """Whether an array has one number for each row, and rows that are counted by the code: `(x.shape[0], 1)`."""
    counted = any(label.kind == "axis" for label in dims[0].labels) if dims else False
    return len(dims) > 1 and counted and dims[0] != ONE and all(dim == ONE for dim in dims[1:])


def _maps_examples(op: Op, column: Dims, facts: Facts) -> bool:
    """Whether the nearest map around an op goes through examples that have these rows, and through nothing else.

    Members of an ensemble have parameters of their own, and rows that may well be examples.
    """
    region = facts.places.region_of[op]
    mapped = next((one for _, one in facts.places.up(region) if one is not None and one.name == "vmap"), None)
    if mapped is None:
        return False
    given = [facts.get(Shapes).of(side.value) for side in taken_sides(mapped, facts.get(Shapes).of)]
    axes = [axis for axis in axes_of(mapped) if axis is not None]
    examples = [fact for fact in given if fact.dims and len(fact.dims) == len(column) + 1]
    with_rows = [fact for fact in examples if fact.dims is not None and same(fact.dims[1], column[0])]
    others = [fact for fact in given if fact not in with_rows and (fact.rank or 0) > 1 and not _is_key(fact)]
    return bool(with_rows) and not others and len(given) == len(axes)


def _is_key(fact: ShapeFact) -> bool:
    return (fact.dtype or "").startswith(("key", "uint32"))


def _callee(call: Op) -> Span:
    return call.regions[0].span


@remembered
def _calls(facts: Facts) -> dict[Span, list[Op]]:
    """Return the calls of each function of the project."""
    found: dict[Span, list[Op]] = {}
    for op in facts.program.named("py.call"):
        found.setdefault(_callee(op), []).append(op)
    return found


def _readers(values: set[Value], facts: Facts) -> Iterator[Op]:
    readers = (one for value in values for one in facts.flow.readers.get(value, ()))
    return (one for one in readers if one.name == "py.call")


def _shares(call: Op, other: Op, drawn: Value, shapes: Shapes) -> bool:
    """Whether another call gives the same rows, and one number for all of them where this one gives what was drawn."""
    if len(call.operands) != len(other.operands) or other is call:
        return False
    pairs = list(zip(call.operands, other.operands, strict=True))
    here = shapes.of(drawn).dims or ()
    alone = [len(there) == len(here) and all(dim == ONE for dim in there) for there in _given(pairs, drawn, shapes)]
    return any(alone) and any(_same_rows(one, two, here, shapes) for one, two in pairs if one is not drawn)


def _given(pairs: Sequence[tuple[Value, Value]], drawn: Value, shapes: Shapes) -> Iterator[Dims]:
    return (dims for one, two in pairs if one is drawn and (dims := shapes.of(two).dims) is not None)


def _same_rows(one: Value, two: Value, column: Dims, shapes: Shapes) -> bool:
    """Whether two arrays have the rows of a column, and are alike in all their sizes."""
    first, second = shapes.of(one).dims or (), shapes.of(two).dims or ()
    alike = len(first) == len(second) == len(column) and all(map(same, first, second))
    return alike and same(first[0], column[0]) and first[-1] != ONE


def _finding(op: Op, call: Op, other: Op) -> Obligation:
    name = named(op.result, "what is drawn")
    return Obligation(
        op.span,
        message=f"{name} is drawn for each row of one element under `vmap`; line {other.span.line} takes one for all",
        current="`vmap` has taken the batch axis already, so the first axis counts parts of one example",
        expected="one number for each example: under `vmap` that is a single one",
        steps=(
            Step(call.span, "this call gets a number for each row"),
            Step(other.span, "this call of the same function gets one number for the same rows"),
        ),
        suggestion="draw a single number, with axes of size 1, or draw for the batch outside of the mapped function",
    )
