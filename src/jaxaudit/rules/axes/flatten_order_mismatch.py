"""The rule `flatten-order-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Program
from jaxaudit.rules.axes._shared.phrases import shape_of
from jaxaudit.rules.axes._shared.reshapes import Reshape, reshapes
from jaxaudit.rules.base import Example, Obligation, Rule, proved


class FlattenOrderMismatch(Rule):
    """Axes are made one in one order and taken apart in another.

    ## What it does
    Remembers which axes a reshape made one, in which order, and compares that with how a later reshape takes the
    result apart.

    ## Why is this bad?
    `(steps, envs)` flattened and then reshaped to `(envs, steps)` has the right number of elements, but the rows are no
    environments: rewards and values of different episodes are mixed, and nothing is raised.

    ## Example
        flat = values.reshape(STEPS * ENVS)  # from (STEPS, ENVS)
        flat.reshape(ENVS, STEPS)

    ## Use instead
        flat = values.reshape(STEPS * ENVS)  # from (STEPS, ENVS)
        flat.reshape(STEPS, ENVS)

    ## When it cannot tell
    When the sizes have no names, or the flat axis is shuffled or sliced in between.
    """

    summary = "Axes are flattened in one order and unflattened in another."
    needs = (Shapes,)

    valid = (
        Example(
            "STEPS, ENVS = 16, 4\n"
            "flat = jnp.zeros((STEPS, ENVS)).reshape(STEPS * ENVS)\ny = (flat * 2).reshape(STEPS, ENVS)\n",
            "same order",
        ),
    )
    invalid = (
        Example(
            "STEPS, ENVS = 16, 4\n"
            "flat = jnp.zeros((STEPS, ENVS)).reshape(STEPS * ENVS)\ny = (flat * 2).reshape(ENVS, STEPS)  #!\n",
            "other order",
        ),
        Example(
            "def f(x):\n    b, t, d = x.shape\n    flat = x.reshape(b * t, d)\n"
            "    return (flat + 1).reshape(t, b, d)  #!\n",
            "by symbols",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every reshape of an axis that an earlier reshape made."""
        shapes = facts.get(Shapes)
        yield from (_judged(one) for one in reshapes(facts.flow, shapes) if one.unflattens)


def _judged(one: Reshape) -> Obligation:
    span = one.op.span
    if not one.moved:
        return proved(span, f"taken apart as {shape_of(one.new)}, in the order it was made")
    return Obligation(
        span,
        message=f"`{one.moved}` was flattened in another order than {shape_of(one.new)} takes it apart",
        current=f"the axis was made of {shape_of(one.old)}; in it `{one.moved}` stands at another place",
        expected="axes are taken apart in the order in which they were made one",
        suggestion="reshape in the old order, then transpose",
    )
