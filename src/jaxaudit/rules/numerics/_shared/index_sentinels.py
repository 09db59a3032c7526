"""Numbers that stand for nothing among indices, next to the size of the axis that they index."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import Dim, same
from jaxaudit.analyses.extents import Sentinel, extents, is_asked_for, met, sentinels
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import ahead, behind, through_ops, walk
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import shown
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import COMPARISONS, FILLING_READS, SUMS_OF_TWO
from jaxaudit.ir.ops import KEEPING, MOVING
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Obligation, Severity, Step, named, unknown
from jaxaudit.rules.numerics._shared.index_extents import indices_of, size_along
from jaxaudit.rules.numerics._shared.index_ranges import is_masked, is_meant
from jaxaudit.rules.numerics._shared.padding import is_extended, plain_index

_WRITES = "array.scatter"


def judge_sentinels(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Judge for every index of an op whether there is an element for the numbers in it that stand for nothing."""
    base = op.argument("base", "a", "arr")
    if not isinstance(base, Value) or is_meant(op, facts.get(Ranges)):
        return
    fact = met(facts.get(Shapes), op, base)
    for index, axis in indices_of(op, fact, facts.get(Ranges)):
        size = size_along(op, base, axis, facts)
        if size is None:
            continue
        plain = plain_index(index, facts.flow)
        for one in sentinels(facts)(plain):
            if one.spare:
                yield from _judge_spare(op, plain, one, facts)
            elif _is_outside(one.number, size) and not _is_dropped(op, one.number, size):
                yield from _judge(op, plain, one, size, facts)
            elif _wraps(one.number) and not is_extended(op, facts.flow):
                yield from _judge_wrapped(op, plain, one, size, facts)


def _is_outside(number: Dim, size: Dim) -> bool:
    """Whether an axis surely has no such element, counted from either end."""
    over, under = (number - size).constant, (number + size).constant
    return (over is not None and over >= 0) or (under is not None and under < 0)


def _wraps(number: Dim) -> bool:
    return number.constant is not None and number.constant < 0


def _is_dropped(op: Op, number: Dim, size: Dim) -> bool:
    """Whether it says on purpose that nothing is written: JAX drops what belongs behind the end."""
    return op.name == _WRITES


def _judge(op: Op, index: Value, one: Sentinel, size: Dim, facts: Facts) -> Iterator[Obligation]:
    if is_masked(op, facts) or is_asked_for(index, one, facts) or _goes_back(op, index, facts.flow):
        yield unknown(op.span, f"what is read for {shown(one.number)} may be left out afterwards")
        return
    name = named(index, "the index")
    happens = "gives NaN for it" if op.function in FILLING_READS else "gives the element at the end for it"
    yield Obligation(
        op.span,
        message=f"{name} holds {shown(one.number)} where there is nothing, in an axis of size {shown(size)}",
        current=f"JAX raises nothing and {happens}, which is mixed with the rest",
        expected="an element of its own for what stands for nothing, or a mask",
        steps=(Step(one.source.span, f"{shown(one.number)} is put into {name} here"),),
        suggestion="make the table one larger, or replace the number before reading and mask what was read",
    )


def _goes_back(op: Op, index: Value, flow: Flow) -> bool:
    """Whether what is read at an index is only for writing there: JAX writes nothing where there is no element."""
    made = set(walk(op.results, lambda value: ahead(flow, value, _ELEMENTWISE)))
    writes = (one for value in made for one in flow.readers.get(value, ()) if one.name == _WRITES)
    places = (part for one in writes for part in index_parts(one.arguments.get("index")))
    return any(isinstance(place, Value) and plain_index(place, flow) is index for place in places)


def _judge_wrapped(op: Op, index: Value, one: Sentinel, size: Dim, facts: Facts) -> Iterator[Obligation]:
    """Judge a negative number, which counts from the end: an element that the indices themselves also mean."""
    known = extents(facts)(index)
    own = known is not None and same(known.end, size)
    writes = op.name == _WRITES
    if is_masked(op, facts) or is_asked_for(index, one, facts) or not own:
        yield unknown(op.span, f"whether {shown(one.number)} is to mean an element at the end is not known")
        return
    name, place = named(index, "the index"), shown(size + one.number)
    yield Obligation(
        op.span,
        severity=Severity.ERROR if writes else Severity.WARNING,
        message=f"{name} is {shown(one.number)} where there is nothing, which is element {place} of this axis",
        current=f"a negative index counts from the end, so element {place} is {'written' if writes else 'read'}",
        expected="nothing is written" if writes else "what stands for nothing is left out",
        steps=(Step(one.source.span, f"{shown(one.number)} is put into {name} here"),),
        suggestion=f'use {shown(size)} and `mode="drop"`' if writes else "mask what was read",
    )


def _judge_spare(op: Op, index: Value, one: Sentinel, facts: Facts) -> Iterator[Obligation]:
    """Judge what is done at index 0 for what a search of fixed size has not found."""
    adds = op.name == _WRITES and op.function in SUMS_OF_TWO
    if not adds or is_asked_for(index, one, facts) or not _may_find_less(one, facts):
        yield unknown(op.span, "whether what is done at index 0 for what was not found is left out is not known")
        return
    name, search = named(index, "the index"), one.source.function
    yield Obligation(
        op.span,
        message=f"{name} is 0 where `{search}` found nothing, so element 0 is changed once more for each",
        current=f"`{search}` fills up what it gives with index 0, and what is computed for it is added to element 0",
        expected="what was not found changes nothing",
        steps=(Step(one.source.span, f"`{search}` gives as many indices as `size` says here"),),
        suggestion='give `fill_value=` the size of the axis and write with `mode="drop"`, or mask what is added',
    )


_TRUTHS = through_ops("array.select", "array.map", *KEEPING)
_ELEMENTWISE = through_ops("array.map", *MOVING)


def _may_find_less(one: Sentinel, facts: Facts) -> bool:
    """Whether data decide how much a search finds: numbers are compared, none of which comes from an order of them."""
    flow, shapes = facts.flow, facts.get(Shapes)
    # What is computed for a pair of an element with itself may well be nothing, or cancel.
    if one.guard is None or len(shapes.of(one.guard).dims or ()) != 1:
        return False
    truths = walk((one.guard,), lambda value: behind(flow, value, _TRUTHS))
    asked = [op for value in truths if (op := flow.maker(value)) is not None and op.function in COMPARISONS]
    sides = [value for op in asked for value in op.operands]
    made = (flow.maker(value) for value in walk(sides, lambda value: behind(flow, value, _ELEMENTWISE)))
    ordered = any(op is not None and op.name in ("array.order", "array.scan") for op in made)
    return not ordered and any((shapes.of(value).dtype or "").startswith("float") for value in sides)
