"""The calls that a finding is due to: what is wrong in a function may be what one caller gives it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.solve import rests_on_shapes
from jaxaudit.ir import Op
from jaxaudit.ir.record import replace
from jaxaudit.rules.base import Obligation, Rule, Step, Verdict
from jaxaudit.spans import Span


def with_callers(rule: type[Rule], obligations: Iterable[Obligation], facts: Facts) -> Iterator[Obligation]:
    """Add the calls that lead to each violation whose facts come from callers, as far as they are the only ones."""
    from_callers = any(map(rests_on_shapes, rule.needs))
    for one in obligations:
        if one.verdict is Verdict.VIOLATED and (one.way or from_callers):
            yield _named(one, _due(one, facts))
        else:
            yield one


def _named(one: Obligation, way: Sequence[Op]) -> Obligation:
    """Return a finding with a step for each call on the way to it."""
    steps = [Step(op.span, f"`{op.function}` is called here") for op in way]
    told = {step.span for step in one.steps}
    further = tuple(step for step in steps if step.span not in told)
    return replace(one, steps=(*one.steps, *further)) if further else one


def ops_of(one: Obligation, facts: Facts) -> Sequence[Op]:
    """Return the ops that a finding is about: those that make what is handled wrongly, or all at its place."""
    makers = [facts.flow.maker(value) for value in one.cause]
    return [op for op in makers if op is not None and op.span == one.span] or _at(facts).get(one.span, [])


def _due(one: Obligation, facts: Facts) -> Sequence[Op]:
    """Return the calls that a finding is due to, the nearest first; none where others lead to it as well."""
    ops = ops_of(one, facts)
    if one.way:
        return next((way for op in ops if (way := tuple(_needed(op, reversed(one.way), facts)))), ())
    ways = [tuple(_needed(op, _calls_around(op, facts), facts)) for op in ops]
    lines = {tuple((call.span.path, call.span.line) for call in way) for way in ways}
    return ways[0] if len(lines) == 1 else ()


def _needed(op: Op, calls: Iterable[Op], facts: Facts) -> Iterator[Op]:
    """Return the calls whose arguments an op depends on, of those around it from the inside out."""
    for call in calls:
        params = [param for region in call.regions for param in region.params]
        if not any(depends(facts.flow, value, params) for value in op.operands):
            return
        yield call
        op = call


def _calls_around(op: Op, facts: Facts) -> Iterator[Op]:
    """Return the calls around an op from the inside out, up to where several lead on."""
    flow = facts.flow
    while True:
        region = flow.places.region_of[op]
        holder = flow.places.holder.get(id(region))
        callers = flow.callers.get(id(region), ()) if holder is None else (holder,)
        if len(callers) != 1:
            return
        op = callers[0]
        if op.name == "py.call":
            yield op


@remembered
def _at(facts: Facts) -> dict[Span, list[Op]]:
    """Return the ops of each place."""
    found: dict[Span, list[Op]] = {}
    for op in facts.program.walk():
        found.setdefault(op.span, []).append(op)
    return found
