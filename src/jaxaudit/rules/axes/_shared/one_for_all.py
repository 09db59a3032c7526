"""The position of the largest of all elements, compared with an answer for each example."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import ahead, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op
from jaxaudit.ir.functions import AVERAGES, PICKED_POSITIONS
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.rules.base import Obligation, Severity, Step

_HANDED_ON = through_ops(*PASSED_ON)


def one_for_all(facts: Facts) -> Iterator[Obligation]:
    """Find positions in whole arrays that are compared with many answers, of which the mean is taken."""
    shapes, flow = facts.get(Shapes), facts.flow
    for op in facts.program.named("array.order"):
        if op.function not in PICKED_POSITIONS or op.argument("axis") is not None or not op.operands:
            continue
        rank = shapes.of(op.operands[0]).rank
        for compared in flow.readers.get(op.result, ()) if rank != 1 else ():
            answers = [value for value in compared.operands if value is not op.result]
            known = [shapes.of(value).rank for value in answers]
            values = walk(compared.results, lambda value: ahead(flow, value, _HANDED_ON))
            means = {one.function for value in values for one in flow.readers.get(value, ())} & AVERAGES
            if compared.function == "equal" and len(answers) == 1 and known[0] != 0 and means:
                yield _finding(op, compared, is_sure=rank is not None and known[0] is not None)


def _finding(op: Op, compared: Op, *, is_sure: bool) -> Obligation:
    name = op.function
    return Obligation(
        op.span,
        severity=Severity.ERROR if is_sure else Severity.WARNING,
        message=f"`{name}` of all axes gives one position, which is compared with the answer of each example",
        current="the array is flattened first, so that one position in it is compared with all answers",
        expected=f"one position for each example: `{name}(..., axis=-1)`",
        steps=(Step(compared.span, "compared here, and the mean is taken"),),
        suggestion="name the axis of the classes: `axis=-1`",
    )
