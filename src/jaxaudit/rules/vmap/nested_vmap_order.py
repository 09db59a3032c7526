"""The rule `nested-vmap-order`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import permutations

from jaxaudit.analyses.axes import Axes, Cause, Conflict, Meeting, nested
from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Program
from jaxaudit.rules.axes._shared.phrases import agreements, axes_facts, axis_of, name_of, shape_of, violated
from jaxaudit.rules.base import Example, Obligation, Rule

_PROGRAM = """from jax import vmap

POINTS, QUERIES = 25, 25


def predict(queries, points, weights):
    kernel = lambda a, b: jnp.exp(-((a - b) ** 2))
    gram = vmap(vmap(kernel, in_axes=({inner})), in_axes=({outer}))(queries, points){mark}
    return gram @ weights


predict(jnp.zeros(QUERIES), jnp.zeros(POINTS), jnp.zeros(POINTS))
"""


class NestedVmapOrder(Rule):
    """Nested `vmap`s put their axes in another order than the one the result is used in.

    ## What it does
    The outer one of two nested `vmap`s gives the first axis of the result, the inner one the second. Where the result
    meets an array on one of these two axes, and it is the other one that has the array's name, the order is reported.

    ## Why is this bad?
    `vmap(vmap(k, (0, None)), (None, 0))(xs, ys)` has the points of `ys` first. A kernel matrix made so is the
    transpose of the one meant; a symmetric use hides it, and so do equal numbers of points.

    ## Example
        vmap(vmap(kernel, in_axes=(0, None)), in_axes=(None, 0))(queries, points) @ weights

    ## Use instead
        vmap(vmap(kernel, in_axes=(None, 0)), in_axes=(0, None))(queries, points) @ weights

    ## When it cannot tell
    When the sizes of the two axes have no names.
    """

    summary = "Nested `vmap`s give the transpose of what is used."
    needs = (Axes,)

    valid = (Example(_PROGRAM.format(inner="None, 0", outer="0, None", mark=""), "queries first"),)
    invalid = (Example(_PROGRAM.format(inner="0, None", outer="None, 0", mark="  #!"), "points first"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every use of the axes of nested maps that have names."""
        axes = axes_facts(facts)
        found = [_finding(one) for one in axes.caused(Cause.NESTED)]
        yield from [*agreements(self.name, axes, partial(_agreed, axes)), *found]


def _agreed(axes: Axes, meeting: Meeting) -> str:
    """Two axes that nested `vmap`s made are used in the order in which they stand."""
    for side in (meeting.left, meeting.right):
        for first, second in permutations(side.dims, 2):
            if meeting.how in ("contracted", "elementwise") and nested(axes.places, first.labels, second.labels):
                return f"nested `vmap`s give {name_of(side.value)} the axes {shape_of(side.dims)}, and so it is used"
    return ""


def _finding(conflict: Conflict) -> Obligation:
    astray, meeting = conflict.astray, conflict.meeting
    other = meeting.right if astray is meeting.left else meeting.left
    here, wanted = axis_of(astray.dim), axis_of(other.dim)
    return violated(
        NestedVmapOrder.name,
        conflict,
        f"nested `vmap`s put `{here}` where the result is used as `{wanted}`",
        f"`{wanted}` is axis {astray.place} of the result",
        "swap the `in_axes` of the inner and the outer `vmap`",
    )
