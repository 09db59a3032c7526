"""What is said of a spread and a mean of one array: both are of one sample."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.extents import met
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import ahead, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.literals import axes_in
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import AVERAGES, SPREADS
from jaxaudit.ir.ops import ELEMENTWISE, KEEPING
from jaxaudit.rules.base import Obligation, Severity, Step, named, proved, unknown

_HANDED_ON = through_ops(*ELEMENTWISE, *KEEPING)


def samples(facts: Facts) -> Iterator[Obligation]:
    """Say of every spread of an array of which a mean is taken too whether both are over the same axes."""
    flow, shapes = facts.flow, facts.get(Shapes)
    for spread in facts.program.named("array.reduce"):
        array = spread.operands[0] if spread.function in SPREADS and spread.operands else None
        others = () if array is None else flow.readers.get(array, ())
        for mean in (one for one in others if one.name == "array.reduce" and one.function in AVERAGES):
            alike = _same_axes(spread, mean, shapes)
            if alike:
                yield proved(spread.span, "the mean of the same array is taken over the same axes")
            elif alike is None or not _meet(spread.results, mean.results, facts):
                yield unknown(spread.span, "whether the mean of the array is over the same axes is open")
            else:
                yield _apart(spread, mean, named(array, "the array"))


def _same_axes(first: Op, second: Op, shapes: Shapes) -> bool | None:
    """Whether two reductions of one array are over the same axes; None where that is not known."""
    given = [one.arguments.get("axis") for one in (first, second)]
    if given[0] is None and given[1] is None:
        return True
    axes = [axes_in(one) for one in given]
    if axes[0] is None or axes[1] is None:
        return None if isinstance(given[0], Value) or isinstance(given[1], Value) else False
    if set(axes[0]) == set(axes[1]):
        return True
    dims = met(shapes, first, first.operands[0]).dims
    if dims is not None:
        return {axis % len(dims) for axis in axes[0]} == {axis % len(dims) for axis in axes[1]} if dims else None
    # Of unknown rank, 0 and -1 may be the same axis.
    return False if len({axis < 0 for one in axes if one is not None for axis in one}) == 1 else None


def _meet(first: tuple[Value, ...], second: tuple[Value, ...], facts: Facts) -> bool:
    """Whether something is computed of both."""
    reached = [set(walk(one, lambda value: ahead(facts.flow, value, _HANDED_ON))) for one in (first, second)]
    return not reached[0].isdisjoint(reached[1])


def _apart(spread: Op, mean: Op, name: str) -> Obligation:
    axes = [one.arguments.get("axis") for one in (spread, mean)]
    return Obligation(
        spread.span,
        # What is centred row by row may well have one scale for all.
        severity=Severity.WARNING if axes[0] is None else Severity.ERROR,
        message=f"`{spread.function}` of {name} is over axis {axes[0]}, its `{mean.function}` over axis {axes[1]}",
        current="mean and spread are of two samples, and are calculated with as if they were of one",
        expected="both are taken over the same axes",
        steps=(Step(mean.span, f"the mean over axis {axes[1]}"),),
        suggestion=f"use `axis={axes[1]}` in both",
    )
