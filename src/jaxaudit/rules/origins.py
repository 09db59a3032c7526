"""Where the values of a finding come from: what is wrong at one line is mostly to be repaired where they were made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import behind, nothing
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import moved
from jaxaudit.ir.ops import BODIES, UNFOLLOWED
from jaxaudit.ir.record import replace
from jaxaudit.rules.base import Obligation, Step, named, wrapping
from jaxaudit.rules.callers import ops_of

_SHOWN = 6
"""How many further steps a reader is willing to read."""


def with_origins(obligations: Iterable[Obligation], facts: Facts) -> Iterator[Obligation]:
    """Add to each finding where its function was transformed and where the values that it handles were made."""
    for one in obligations:
        yield _explained(one, facts) if one.speaks else one


def _explained(one: Obligation, facts: Facts) -> Obligation:
    # Python tells where a statement was when it raised, which may be a part of what an op stands for.
    there = ops_of(one, facts) or _starting(facts).get(one.span[:3], [])
    ops = [op for op in there if not op.is_derived]
    values = (*one.cause, *(value for op in ops for value in op.operands))
    steps = [step for op in ops for step in wrapping(op)]
    steps += [step for value in dict.fromkeys(values) for step in _history(value, ops, facts.flow)]
    told = {one.span[:2], *(step.span[:2] for step in one.steps)}
    further: dict[tuple[object, ...], Step] = {}
    for step in steps:
        if step.span[:2] not in told:
            further.setdefault(step.span[:2], step)
    return replace(one, steps=(*one.steps, *list(further.values())[:_SHOWN])) if further else one


@remembered
def _starting(facts: Facts) -> dict[tuple[str, int, int], list[Op]]:
    """Return the ops by the place where they begin."""
    found: dict[tuple[str, int, int], list[Op]] = {}
    for op in facts.program.walk():
        found.setdefault(op.span[:3], []).append(op)
    return found


def _history(value: Value, ops: Sequence[Op], flow: Flow) -> Iterator[Step]:
    """Return the places where a value was made, and where it was moved or handed on as it is, the nearest first."""
    seen: set[Value] = set()
    while value not in seen:
        seen.add(value)
        op = flow.maker(value)
        if op is None or op.name in BODIES:
            sources = behind(flow, value, nothing)
        else:
            given = moved(op)
            sources = () if given is None else (given,)
        if op is not None:
            yield from _made(op, value)
            yield from _handed_over(op, value, ops, flow)
        if len(sources) != 1:
            return
        value = sources[0]


def _handed_over(op: Op, value: Value, ops: Sequence[Op], flow: Flow) -> Iterator[Step]:
    """Return the calls that give a value which was made in their bodies to some ops outside of these."""
    while (call := flow.holder(op)) is not None and call.in_place and value in call.results:
        if any(flow.places.within(flow.places.region_of[one], call.regions[0]) for one in ops):
            return
        yield Step(call.span, f"{named(value, 'an operand')} comes from here")
        op = call


def _made(op: Op, value: Value) -> Iterator[Step]:
    if op.name in UNFOLLOWED or not op.span.line:
        return
    yield Step(op.span, f"{named(value, 'an operand')} comes from here")
    yield from wrapping(op)
