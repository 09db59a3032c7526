"""What loops carry: each leaf with its type before and after the body, and the finding that it changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.types import keeps_type
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.compare import Match, compare
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import CARRYING
from jaxaudit.rules.base import Obligation, Raises, Step, Verdict
from jaxaudit.rules.phrases import named


@dataclass(frozen=True, slots=True)
class CarriedLeaf:
    """One leaf of a loop's carry in one context."""

    op: Op
    start: Value
    """The parameter of the body."""
    end: Value
    """What the body hands on."""
    match: Match
    is_renewed: bool
    """Whether what the body hands on is made from what it was given; asked only where the types differ."""

    @property
    def name(self) -> str:
        """What people call it."""
        return named(self.start, named(self.end, "a part of the carry"))


def carried_leaves(facts: Facts) -> Iterator[tuple[Op, list[CarriedLeaf]]]:
    """Return every loop with the leaves it carries, in all contexts."""
    shapes, flow = facts.get(Shapes), facts.flow
    for op in facts.program.named(*sorted(CARRYING)):
        if op.regions:
            contexts = shapes.contexts(op) or (Context(op, {}),)
            yield op, [leaf for context in contexts for leaf in _leaves(Loop(op), context, flow)]


def _leaves(loop: Loop, context: Context, flow: Flow) -> Iterator[CarriedLeaf]:
    for (start, _, _), end in zip(loop.carried, loop.body.results, strict=False):
        match = compare(context.of(start), context.of(end), yielding=False)
        if match.fit is Fit.OPEN and keeps_type(flow, end, start):
            match = Match(Fit.FITS)
        renewed = match.fit is Fit.CLASHES and depends(flow, end, (start,))
        yield CarriedLeaf(loop.op, start, end, match, renewed)


def type_change(rule: str, leaf: CarriedLeaf, message: str, expected: str, suggestion: str) -> Obligation:
    """Return the finding that a leaf of a carry changes its type."""
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
