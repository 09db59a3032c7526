"""Flags that are recorded with a step, and stop at it what is added up from the end of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import Context, Origin, contexts, origin
from jaxaudit.analyses.lineage.products import Product, Sums
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop, complement
from jaxaudit.rules.base import Obligation, Step, named, proved


def recorded_flags(program: Program, facts: Facts) -> Iterator[Obligation]:
    """List every flag of a step by which a scan from the last step to the first stops what it adds up."""
    for op in program.named("scan"):
        for context in contexts(facts.flow, op) if op.reverse is True else ():
            yield from _judged(op, context, facts.flow)


def _judged(op: Op, context: Context, flow: Flow) -> Iterator[Obligation]:
    sums, elements, results = Sums(flow, context), dict(Loop(op).elements), op.regions[0].results
    for param, _, at in Loop(op).carried:
        parts = sums.products(results[at]) if at < len(results) else ()
        kept = [one for one in parts if param in one.factors]
        added = [one for one in parts if one not in kept]
        flags = {flag for one in kept for flag in _flags(one, sums) if flag in elements}
        for flag in flags if added else ():
            made = origin(flow, elements[flag], context, in_turn=True)
            rewards = _recorded(added, sums, elements, context)
            yield from _of_step(op, flag, made, rewards, flow)


def _flags(part: Product, sums: Sums) -> Iterator[Value]:
    """Return what decides whether a part counts: `done` of `1 - done`, `~done` and `where(done, 0, x)`."""
    yield from part.masks
    turned = (complement(sums.flow.maker(one)) for one in (*part.factors, *part.masks))
    yield from (sums.source(flag) for flag in turned if flag is not None)


def _recorded(parts: Sequence[Product], sums: Sums, elements: dict[Value, Value], context: Context) -> list[Origin]:
    """Return where what is added comes from, one for each array of steps."""
    added = {value for one in parts for value in one.factors if value in elements}
    return [origin(sums.flow, elements[value], context, in_turn=True) for value in added]


def _of_step(scan: Op, flag: Value, made: Origin, rewards: Sequence[Origin], flow: Flow) -> Iterator[Obligation]:
    """Judge whether a flag was made by the step that it is recorded with, as what is added is."""
    loop = flow.loop_of(made.value)
    if loop is None:
        if made.op is not None and made.stacked:
            yield proved(scan.span, f"{named(flag, 'the flag')} is made by the step that it is recorded with")
        return
    newer = next((one for param, one in loop.successors if param is made.value), made.value)
    steps = [
        one for one in rewards if one.op is not None and flow.places.within(flow.places.region_of[one.op], loop.body)
    ]
    behind = [one for one in rewards if one.op is None]
    end = next((op for op in loop.body.ops if op.name == "py.return"), loop.op)
    if newer is not made.value and steps and not behind:
        yield _finding(scan, end, made.value, newer)


def _finding(scan: Op, end: Op, flag: Value, newer: Value) -> Obligation:
    name = named(flag, "the flag")
    return Obligation(
        end.span,
        message=f"{name} of the step before is recorded with this step, and stops what comes after this one",
        current=f"the turn makes a newer {name}, and records the one it was given beside what this step gave",
        expected="the flag that is recorded with a step is the one that this step made",
        steps=(
            Step(newer.span, "the flag of this step is made here"),
            Step(scan.span, f"this adds up from the last step to the first, and {name} stops it"),
        ),
        suggestion=f"record the newer {name}",
    )
