"""The rule `nested-vmap-order`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import permutations

from jaxaudit.analyses.axes import Axes, Cause, Conflict, Meeting, nested
from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import nothing, sources
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.mapped import axes_of, place_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import PICKED_POSITIONS
from jaxaudit.ir.record import record
from jaxaudit.rules.axes._shared.phrases import agreements, axes_facts, name_of, names_of, shape_of, violated
from jaxaudit.rules.axes._shared.positions import before_reduced, looked_up
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved

_PROGRAM = """from jax import vmap

POINTS, QUERIES = 25, 25


def predict(queries, points, weights):
    kernel = lambda a, b: jnp.exp(-((a - b) ** 2))
    gram = vmap(vmap(kernel, in_axes=({inner})), in_axes=({outer}))(queries, points){mark}
    return gram @ weights


predict(jnp.zeros(QUERIES), jnp.zeros(POINTS), jnp.zeros(POINTS))
"""


_NEAREST = """
from jax import vmap


def nearest(queries, points):
    far = vmap(vmap(lambda a, b: jnp.sum((a - b) ** 2), in_axes=({inner})), in_axes=({outer}))(queries, points)
    return points[jnp.argmin(far, axis=1)]{mark}


nearest(jnp.zeros((25, 2)), jnp.ones((25, 2)))
"""


_GRID = """
GRID = 16
heights, angles = jnp.linspace(0.0, 9.0, GRID), jnp.linspace(0.0, 3.0, GRID)


def table(f):
    return jax.vmap(jax.vmap(f, in_axes=({inner})), in_axes=({outer}))(heights, angles){mark}


measured = jnp.zeros((heights.size, angles.size)) + jnp.sin(angles) * heights[:, None]
error = table(lambda h, a: h * jnp.cos(a)) - measured
"""


_BEST = """
def best(seeds, rates):
    scores = jax.vmap(jax.vmap(lambda s, r: jnp.sin(s * r), in_axes=(0, None)), in_axes=(None, 0))(seeds, rates)
    return rates[jnp.argmax(scores.mean(axis={axis}))]{mark}


best(jnp.arange(8.0), jnp.linspace(0.1, 1.0, 8))
"""


class NestedVmapOrder(Rule):
    """Nested `vmap`s put their axes in another order than the one the result is used in.

    ## What it does
    The outer one of two nested `vmap`s gives the first axis of the result, the inner one the second. Where the result
    meets an array on one of these two axes, and it is the other one that has the array's name, or was counted by the
    same `linspace`, the order is reported.
    So are positions along one of the two, `jnp.argmin(cost, axis=1)`, that pick from what the other `vmap` goes over.

    ## Why is this bad?
    `vmap(vmap(k, (0, None)), (None, 0))(xs, ys)` has the points of `ys` first. A kernel matrix made so is the
    transpose of the one meant; a symmetric use hides it, and so do equal numbers of points.

    ## Example
        vmap(vmap(kernel, in_axes=(0, None)), in_axes=(None, 0))(queries, points) @ weights

    ## Use instead
        vmap(vmap(kernel, in_axes=(None, 0)), in_axes=(0, None))(queries, points) @ weights

    ## When it cannot tell
    When the sizes of the two axes have no names, and no positions along them are used.
    """

    summary = "Nested `vmap`s give the transpose of what is used."
    needs = (Axes, Shapes)

    valid = (
        Example(_PROGRAM.format(inner="None, 0", outer="0, None", mark=""), "queries first"),
        Example(_NEAREST.format(inner="None, 0", outer="0, None", mark=""), "the nearest point of each query"),
        Example(_GRID.format(inner="None, 0", outer="0, None", mark=""), "two grids of one size"),
        Example(_BEST.format(axis=1, mark=""), "the best rate over all seeds"),
    )
    invalid = (
        Example(_PROGRAM.format(inner="0, None", outer="None, 0", mark="  #!"), "points first"),
        Example(_NEAREST.format(inner="0, None", outer="None, 0", mark="  #!"), "numbers of queries pick points"),
        Example(_GRID.format(inner="0, None", outer="None, 0", mark="  #!"), "two grids of one size"),
        Example(_BEST.format(axis=0, mark="  #!"), "the best seed picks a rate"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every use of the axes of nested maps that have names."""
        axes = axes_facts(facts)
        found = [_finding(one) for one in axes.caused(Cause.NESTED)]
        yield from [*agreements(axes, partial(_agreed, axes)), *found]
        yield from map(_picked, positions_used(program, facts.flow, facts.get(Shapes)))


def _picked(one: Used) -> Obligation:
    array, axis = name_of(one.array), one.found.argument("axis")
    if one.other is None:
        reason = f"the positions pick from {array}, which the `vmap` goes over that made the axis they count along"
        return proved(one.use.span, reason)
    return Obligation(
        one.use.span,
        message=f"positions along axis {axis} pick from {array}, which is the other axis of the nested `vmap`s",
        current=f"`{one.found.function}` counts along an axis that another `vmap` made than the one over {array}",
        expected=f"the positions count along the axis of {array}",
        steps=(
            Step(one.other.span, f"this `vmap` goes over {array}"),
            Step(one.own.span, f"this one makes axis {axis}"),
            Step(one.found.span, "the positions are found here"),
        ),
        suggestion="swap the `in_axes` of the inner and the outer `vmap`, or count along the other axis",
    )


def _agreed(axes: Axes, meeting: Meeting) -> str:
    """Two axes that nested `vmap`s made are used in the order in which they stand."""
    for side in (meeting.left, meeting.right):
        for first, second in permutations(side.dims, 2):
            if meeting.how in ("contracted", "elementwise") and nested(axes.places, first.labels, second.labels):
                return f"nested `vmap`s give {name_of(side.value)} the axes {shape_of(side.dims)}, and so it is used"
    return ""


def _finding(conflict: Conflict) -> Obligation:
    here, wanted = names_of(conflict)
    return violated(
        conflict,
        f"nested `vmap`s put `{here}` where the result is used as `{wanted}`",
        f"`{wanted}` is axis {conflict.astray.place} of the result",
        "swap the `in_axes` of the inner and the outer `vmap`",
    )


@record
class Used:
    """Positions that are used on an array which one of two nested maps goes over."""

    found: Op
    """What counts along an axis."""
    use: Op
    array: Value
    own: Op
    """The map that made the axis."""
    other: Op | None
    """The map that goes over the array, where that is another one."""


def positions_used(program: Program, flow: Flow, shapes: Shapes) -> Iterator[Used]:
    """Return every use of positions along an axis of nested maps on an array that one of them goes over."""
    for op in program.named("array.order", "array.reduce"):
        if op.function in PICKED_POSITIONS and op.operands:
            own, others = _maps(op, flow, shapes)
            yield from _uses(op, own, others, flow) if own and others else ()


def _maps(op: Op, flow: Flow, shapes: Shapes) -> tuple[list[Op], list[Op]]:
    """Return the maps that the axis has come out of along which an op counts, and those of the other axes."""
    axis = op.argument("axis")
    for context in shapes.contexts(op):
        dims = context.of(op.operands[0]).dims
        if dims is not None and len(dims) == 1 and axis is None:
            axis = 0
        place = place_of(axis, len(dims)) if dims is not None and isinstance(axis, int) else None
        if dims is None or place is None:
            continue
        before = [dim for one in before_reduced(op.operands[0], flow) for dim in shapes.of(one).dims or ()]
        own = _made(dims[place])
        others = [one for dim in (*dims[:place], *dims[place + 1 :], *before) for one in _made(dim)]
        alone = [one for one in others if one not in own]
        return [one for one in own if before or one not in others], alone
    return [], []


def _made(dim: Dim) -> list[Op]:
    """Return the maps that an axis has come out of."""
    return [label.op for label in dim.labels if label.kind == "vmap" and label.op is not None]


def _uses(op: Op, own: list[Op], others: list[Op], flow: Flow) -> Iterator[Used]:
    for use, array in looked_up(flow, op.results[0]):
        names = sources(flow, (array,), nothing)
        over = [one for one in (*own, *others) if not names.isdisjoint(_mapped(one, flow))]
        if over:
            inner = max(own, key=lambda one: flow.places.order[one])
            yield Used(op, use, array, inner, None if over[0] in own else over[0])


def _mapped(op: Op, flow: Flow) -> set[Value]:
    """Return the arrays that a map goes over, under all names they have."""
    taken = [value for value, axis in zip(op.operands, axes_of(op), strict=True) if axis == 0]
    return sources(flow, taken, nothing)
