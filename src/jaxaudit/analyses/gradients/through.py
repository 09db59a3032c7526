"""Which values gradients flow through: those that depend on what is differentiated, on a way to the loss."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.gradients.algebra import flowing, slice_of
from jaxaudit.analyses.gradients.reach import gradients_of
from jaxaudit.ir import Op, Value


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
