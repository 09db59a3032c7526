"""Comparisons in a backward rule that always come out alike: they mask nothing, or everything."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.ranges import Range, Ranges
from jaxaudit.analyses.ranges.result import interval_text
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import ORDERINGS
from jaxaudit.rules.base import Obligation, Step


def idle_masks(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Return the comparisons in the rules of a function that what was saved decides, whatever the argument is."""
    ranges, inside = facts.get(Ranges), op.regions[0]
    for one in inside.walk():
        if one.name != "array.map" or one.function not in ORDERINGS or len(one.arguments) != 2:
            continue
        look = ranges.look(one)
        first, second = (look.of(side) for side in one.arguments.values())
        outcome = _outcome(one.function, first, second)
        if outcome is not None and _is_of(one, op, facts):
            yield _finding(op, one, outcome, interval_text(first) or interval_text(second))


def _outcome(function: str, first: Range, second: Range) -> bool | None:
    """Return how a comparison of two ranges comes out; None where it depends."""
    if first.nan or second.nan:
        return None
    if function.startswith("greater"):
        first, second = second, first
    if function.endswith("equal"):
        return True if first.high <= second.low else False if first.low > second.high else None
    return True if first.high < second.low else False if first.low >= second.high else None


def _is_of(one: Op, op: Op, facts: Facts) -> bool:
    """Whether a comparison is about the arguments of the function, and a gradient is made with it."""
    made = [value for part in op.gradients or () for value in part or ()]
    asked = any(depends(facts.flow, value, op.regions[0].params) for value in one.operands)
    return asked and any(depends(facts.flow, value, one.results) for value in made)


def _finding(op: Op, one: Op, outcome: bool, within: str) -> Obligation:
    return Obligation(
        one.span,
        message=f"this comparison {'always' if outcome else 'never'} holds in the rule of `{op.qualified}`",
        current=f"what is compared is {within}, so {'everything' if outcome else 'nothing'} passes",
        expected="what was saved tells where the gradient passes",
        steps=tuple(_saved(op, one.operands)),
        suggestion="save the argument and not what the function made of it",
    )


def _saved(op: Op, operands: tuple[Value, ...]) -> Iterator[Step]:
    """Return where the rule that runs first hands over what it saves."""
    forward = next((call for call in op.regions[0].ops if call.name == "py.call" and call.regions), None)
    if forward is None:
        return
    given = [one.span for one in forward.regions[0].ops if one.name == "py.return"]
    inside = {value for one in forward.regions[0].walk() for value in one.results}
    if given and inside.isdisjoint(operands):
        yield Step(given[-1], "this is saved")
