"""What is said of weighted means that are written out as two sums, and of products of unit vectors."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.means import WrittenMean, written_means
from jaxaudit.analyses.axes.units import Compared, compared_units
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import ahead, through_ops, walk
from jaxaudit.ir.functions import AVERAGES
from jaxaudit.ir.ops import KEEPING
from jaxaudit.rules.base import Obligation, Severity, Step, proved, unknown

_HANDED_ON = through_ops("array.map", "array.select", *KEEPING)


def judged_means(facts: Facts) -> Iterator[Obligation]:
    """Say of every weighted mean whether its two sums run over the same axes."""
    for one in written_means(facts):
        if one.agrees:
            yield proved(one.count.span, "the weights are counted over the axes that they are summed over")
        elif one.is_nested and not _is_averaged(facts, one):
            yield unknown(one.count.span, "whether a share of the whole or a mean is meant is not known")
        else:
            yield _apart(one)


def _is_averaged(facts: Facts, one: WrittenMean) -> bool:
    """Whether the mean of what comes out is taken, though it was divided by the whole."""
    values = walk(one.op.results, lambda value: ahead(facts.flow, value, _HANDED_ON))
    readers = {op.function for value in values for op in facts.flow.readers.get(value, ())}
    return one.summed is not None and bool(readers & AVERAGES)


def _apart(one: WrittenMean) -> Obligation:
    first, second = (_words(axes) for axes in (one.summed, one.counted))
    doubtful = one.is_nested or one.is_square
    return Obligation(
        one.count.span,
        severity=Severity.WARNING if doubtful else Severity.ERROR,
        message=f"weights are summed over {first}, and divided by their sum over {second}",
        current="what is divided by is not how much weight the sum has",
        expected="both sums of a weighted mean run over the same axes",
        steps=(Step(one.top.span, f"summed over {first} here"), Step(one.op.span, "divided here")),
        suggestion=f"count the weights over {first}",
    )


def _words(axes: frozenset[int] | None) -> str:
    return "all axes" if axes is None else f"axis {', '.join(map(str, sorted(axes)))}" if axes else "no axis"


def judged_units(facts: Facts) -> Iterator[Obligation]:
    """Say of every product of unit vectors whether it sums over the axis along which they have the length one."""
    for one in compared_units(facts):
        if one.is_summed:
            yield proved(one.op.span, "the vectors have the length one along the axis that their product sums over")
        else:
            yield _no_angle(one)


def _no_angle(one: Compared) -> Obligation:
    return Obligation(
        one.op.span,
        message=f"vectors get the length one along axis {one.axis}, but their product sums over another",
        current="the product is no cosine: its size depends on how long the vectors are",
        expected="the vectors that are compared have the length one along the axis of their components",
        steps=(Step(one.product.span, f"the product sums over another axis here, and axis {one.axis} stays"),),
        suggestion="take the norm over the axis of the components, mostly `axis=-1`",
    )
