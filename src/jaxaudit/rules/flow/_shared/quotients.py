"""Quotients of a number and itself: about 1 whatever it is, and without a slope where they are differentiated."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.ops import DERIVATIVES
from jaxaudit.rules.base import Obligation, named, proved, unknown

_SMALL = 1e-3
"""What is added to a divisor to keep it from 0, and no more."""


def quotients(program: Program, facts: Facts) -> Iterator[Obligation]:
    """List every quotient of two numbers inside of a function that is differentiated."""
    flow, shapes = facts.flow, facts.get(Shapes)
    for op in program.mapping("divide"):
        above, below = op.value("x"), op.value("y")
        if op.is_derived or above is None or below is None or shapes.of(above).dims != ():
            continue
        if any(one is not None and one.name in DERIVATIVES for _, one in flow.places.up(flow.places.region_of[op])):
            yield _judged(op, above, below, flow)


def _judged(op: Op, above: Value, below: Value, flow: Flow) -> Obligation:
    before = _guarded(below, flow)
    first, second = (origin(flow, one, {}, in_turn=True) for one in (above, before))
    if first.value is not second.value:
        makers = (first.op, second.op)
        if None not in makers and len({(one.name, one.function) for one in makers if one is not None}) > 1:
            return proved(op.span, "what is divided and what it is divided by are computed differently")
        return unknown(op.span, "whether a number is divided by itself is not known")
    name = named(above, "a number")
    return Obligation(
        op.span,
        message=f"{name} is divided by itself: the quotient is about 1, and its gradient about 0",
        current=f"the gradient through {name} and that through the divisor cancel",
        expected="the divisor only scales, and no gradient goes through it",
        suggestion=f"divide by `jax.lax.stop_gradient({above.name or '...'})`",
    )


def _guarded(value: Value, flow: Flow) -> Value:
    """Return what a divisor was before something small was added to it, or it was kept above that."""
    made = origin(flow, value, {}, in_turn=True).op
    if made is None or made.function not in ("add", "maximum") or len(made.operands) != 1:
        return value
    numbers = (one for one in (made.arguments.get("x"), made.arguments.get("y")) if isinstance(one, float))
    return made.operands[0] if any(0 < one <= _SMALL for one in numbers) else value
