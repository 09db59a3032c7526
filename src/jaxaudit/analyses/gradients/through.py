"""Which values gradients flow through: those that depend on what is differentiated, on a way to the loss."""

from __future__ import annotations

from collections.abc import Mapping, Set

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.gradients.algebra import flowing, slice_of
from jaxaudit.analyses.gradients.reach import gradients_of
from jaxaudit.analyses.queries import ahead, behind, walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import COMPARISONS
from jaxaudit.ir.ops import INLINE, PASSED_ON


@remembered
def taken_through(facts: Facts) -> Mapping[Value, Op]:
    """Return every value that a gradient flows through, and the op that takes the gradient."""
    found: dict[Value, Op] = {}
    for gradient in gradients_of(facts):
        for root in gradient.roots:
            for node in slice_of(root):
                if flowing(node):
                    found.setdefault(node.value, gradient.op)
    return found


@remembered
def open_to(facts: Facts) -> Set[Value]:
    """Return the values that callers who are not in sight may take gradients through.

    They are computed from what a root is given, and what it gives is computed from them.
    """
    flow, roots = facts.flow, facts.program.roots
    given = (param for root in roots for param in root.region.params)
    made = set(walk(given, lambda one: ahead(flow, one, _passes)))
    bodies = {id(root.region) for root in roots}
    ends = (
        value
        for op in facts.program.named("py.return")
        if _body(op, facts) in bodies
        for value in op.operands
        if value in made
    )
    return made & set(walk(ends, lambda one: behind(flow, one, _passes)))


def _body(op: Op, facts: Facts) -> int:
    """Return the function that an op stands in, in branches and loops at most."""
    around = facts.places.up(facts.places.region_of[op])
    return next(id(region) for region, holder in around if holder is None or holder.name not in INLINE)


def _passes(op: Op) -> bool:
    differentiable = op.name.startswith("array.") and op.function not in COMPARISONS
    return differentiable or (op.name in PASSED_ON and op.name != "grad.stop")
