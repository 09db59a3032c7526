"""What loops carry: each leaf with its type before and after the body, and the sentences that rules say about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.types import keeps_type
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.compare import Match, compare
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.ir import Op, Region, Value
from jaxaudit.rules.base import Obligation, Raises, Step, Verdict

LOOPS = ("scan", "fori", "while")


@dataclass(frozen=True, slots=True)
class Carried:
    """One leaf of a loop's carry in one context."""

    op: Op
    name: str
    start: Value
    """The parameter of the body."""
    end: Value
    """What the body hands on."""
    match: Match
    kept: bool
    """Whether what the body hands on is made from what it was given."""


def carried(flow: Flow, shapes: Shapes) -> Iterator[tuple[Op, list[Carried]]]:
    """Return every loop with the leaves it carries, in all contexts."""
    for op in flow.program.named(*sorted(LOOPS)):
        if op.regions:
            contexts = shapes.contexts(op) or (Context(op, {}),)
            yield op, [leaf for context in contexts for leaf in _leaves(op, context, flow)]


def _leaves(op: Op, context: Context, flow: Flow) -> Iterator[Carried]:
    region = op.regions[-1]
    for start, end in _pairs(op, region):
        match = compare(context.of(start), context.of(end), yielding=False)
        if match.fit is Fit.OPEN and keeps_type(flow, end, start):
            match = Match(Fit.FITS)
        name = start.name or end.name
        reached = match.fit is Fit.CLASHES and start in _sources(region, end)
        yield Carried(op, f"`{name}`" if name else "a part of the carry", start, end, match, reached)


def _pairs(op: Op, region: Region) -> list[tuple[Value, Value]]:
    params = region.params[1:] if op.name == "fori" else region.params
    if op.name == "scan":
        count = op.carry
        params = params[: count if isinstance(count, int) else 0]
    return list(zip(params, region.results, strict=False))


def _sources(region: Region, end: Value) -> set[Value]:
    """Return every value of the body that a value is made from."""
    makers = {value: op for op in _all_ops(region) for value in op.results}
    found: set[Value] = set()
    pending = [end]
    while pending:
        value = pending.pop()
        if value in found:
            continue
        found.add(value)
        maker = makers.get(value)
        if maker is not None:
            pending.extend(maker.operands)
            pending.extend(used for inner in maker.regions for op in inner.walk() for used in op.operands)
            pending.extend(left for inner in maker.regions for left in inner.results)
    return found


def _all_ops(region: Region) -> Iterator[Op]:
    yield from region.walk()


def finding(rule: str, leaf: Carried, message: str, expected: str, suggestion: str) -> Obligation:
    """Say that a leaf of a carry changes its type."""
    return Obligation(
        rule,
        leaf.op.span,
        Verdict.VIOLATED,
        message=message,
        current=f"JAX refuses this loop: the carry must keep its type, and {leaf.name} does not",
        raises=Raises.TRACING,
        expected=expected,
        steps=(
            Step(leaf.start.span, f"{leaf.name} goes in as {leaf.match.first}"),
            Step(leaf.end.span, f"and is handed on as {leaf.match.second}"),
        ),
        suggestion=suggestion,
    )
