"""The rule `broadcast-argument-mapped`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from jaxaudit.analyses.axes import Axes, Cause, Conflict, Meeting
from jaxaudit.analyses.axes.meetings import Side, taken_sides
from jaxaudit.analyses.dims import Dim, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import named, related
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import is_differentiated
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Mapped
from jaxaudit.ir.record import record
from jaxaudit.rules.axes._shared.phrases import agreements, axes_facts, axis_of, is_stacked, name_of, shape_of, violated
from jaxaudit.rules.base import Example, Obligation, Rule, Severity
from jaxaudit.rules.vmap._shared.scalars import reductions

_PROGRAM = """
MEMBERS, BATCH = 10, 10


def values(ensemble, obs):
    return jax.vmap(lambda w, x: x @ w{options})(ensemble, obs){mark}


ensemble = jax.vmap(lambda key: jax.random.normal(key, (4,)))(jax.random.split(jax.random.key(0), MEMBERS))
values(ensemble, jnp.zeros((BATCH, 4)))
"""


class BroadcastArgumentMapped(Rule):
    """An argument that all members share is mapped along with the members.

    ## What it does
    Compares the axes that one `vmap` maps together. Where an argument goes by an axis that another one has as well,
    and which is not the mapped one there, each element was to meet all of it. Where one of them was stacked by an
    earlier `vmap` (the members of an ensemble) and the other has the name of something else (the examples of a
    batch), the second was to be shared.

    ## Why is this bad?
    By default `vmap` maps every argument over its first axis. With as many members as examples nothing is raised: each
    member sees one example, and the result has one axis too few.

    ## Example
        MEMBERS, BATCH = 10, 10
        ensemble = jax.vmap(init)(jax.random.split(key, MEMBERS))
        jax.vmap(value)(ensemble, jnp.zeros((BATCH, 4)))

    ## Use instead
        MEMBERS, BATCH = 10, 10
        ensemble = jax.vmap(init)(jax.random.split(key, MEMBERS))
        jax.vmap(value, in_axes=(0, None))(ensemble, jnp.zeros((BATCH, 4)))

    ## When it cannot tell
    When the sizes have no names. Where neither axis was stacked by a `vmap` it is a warning: the two may be one thing,
    unless a derivative is taken with respect to one of the arguments and not to the other, or the function sums what
    `vmap` has made one number of.
    """

    summary = "An argument that was to be shared is mapped over an axis of equal size."
    needs = (Axes, Shapes)

    valid = (
        Example(_PROGRAM.format(options=", in_axes=(0, None)", mark=""), "shared"),
        Example(
            """
            BATCH, STEPS, CHANNELS = 8, 64, 8
            x = jnp.zeros((BATCH, STEPS, CHANNELS))
            y = jax.vmap(lambda g, x: x * g, in_axes=(None, 0))(jnp.ones(CHANNELS), x)
            z = jax.vmap(lambda g, x: x * g, in_axes=(0, 2))(jnp.ones(CHANNELS), x)
            near = jax.vmap(lambda a, row: a @ row)(jnp.ones((BATCH, BATCH)), jnp.ones((BATCH, BATCH)))
            """,
            "by its own axis",
        ),
    )
    invalid = (
        Example(_PROGRAM.format(options="", mark="  #!"), "mapped by default"),
        Example(
            "TASKS, BATCH = 10, 10\ny = jax.vmap(lambda a, b: a + b)(jnp.zeros(TASKS), jnp.zeros(BATCH))  #?\n",
            "two names",
        ),
        Example(
            "CURVES, POINTS = 10, 10\n\n\ndef area(slope, x):\n    return jnp.mean(jnp.sin(slope * x))\n\n\n"
            "y = jax.vmap(area)(jnp.ones(CURVES), jnp.linspace(0.0, 1.0, POINTS))  #!\n",
            "the mean of one point",
        ),
        Example(
            "HIDDEN, BATCH = 10, 10\n\n\n"
            "def loss(w, x):\n    return jax.vmap(lambda v, a: v @ a)(w, x).sum()  #!\n\n\n"
            "g = jax.grad(loss)(jnp.ones((HIDDEN, 3)), jnp.ones((BATCH, 3)))\n",
            "parameters, row by row",
        ),
        Example(
            """
            BATCH, STEPS, CHANNELS = 8, 64, 8

            def scaled(gain, x):
                return x * gain

            y = jax.vmap(scaled)(jnp.ones(CHANNELS), jnp.zeros((BATCH, STEPS, CHANNELS)))  #!
            """,
            "one for each channel",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every `vmap` over named axes."""
        axes = axes_facts(facts)
        elsewhere = {one.op: one for one in _elsewhere(program, facts.get(Shapes))}
        found = [*map(_of_another, elsewhere.values()), *(_finding(one) for one in axes.caused(Cause.STACKED))]
        mapped = [one for one in axes.caused(Cause.TOGETHER) if one.meeting.how == "mapped"]
        chance = [one for one in mapped if one.meeting.op not in elsewhere]
        flow = facts.flow
        sums = set(reductions(facts))
        sure = (_learned(one, flow) or _is_summed(one, sums, facts) for one in chance)
        found.extend(
            _finding(one, Severity.ERROR if is_sure else Severity.WARNING)
            for one, is_sure in zip(chance, sure, strict=True)
        )
        yield from [*agreements(axes, _agreed), *found]


@record
class _Elsewhere:
    """An argument that goes by an axis which another one has too, and which is not the mapped one there."""

    op: Op
    shared: Side
    other: Side
    place: int
    """Which axis of the other argument it is."""


def _elsewhere(program: Program, shapes: Shapes) -> Iterator[_Elsewhere]:
    """Return the arguments that are mapped along an axis that stays in what the others are elements of."""
    for op in program.named("vmap", "pmap"):
        for context in shapes.contexts(op) if op.regions else ():
            for shared, other in permutations(taken_sides(op, context.of), 2):
                places = [at for at, dim in other.others if _is_named_alike(dim, shared.dim)]
                if places and _is_other(shared.dim, other.dim):
                    yield _Elsewhere(op, shared, other, places[0])


def _is_named_alike(first: Dim, second: Dim) -> bool:
    return same(first, second) and related(first.labels, second.labels)


def _is_other(first: Dim, second: Dim) -> bool:
    """Whether two mapped axes are two things: one has a name of its own, or is as long as nobody has written down."""
    known = second.known and (second.constant is None or any(named(second.labels)))
    return known and not related(first.labels, second.labels) and not (same(first, second) and first.constant is None)


def _of_another(one: _Elsewhere) -> Obligation:
    shared, other = name_of(one.shared.value), name_of(one.other.value)
    axis = axis_of(one.shared.dim)
    return Obligation(
        one.op.span,
        message=f"{shared} goes by `{axis}`, axis {one.place} of {other}, but is mapped along axis {one.other.place}",
        current=f"each element of {other} meets one entry of {shared}, and not one for each `{axis}`",
        expected=f"every element sees all of {shared} {shape_of(one.shared.dims)}",
        suggestion=f"give {shared} the entry `None` in `in_axes`",
    )


def _learned(conflict: Conflict, flow: Flow) -> bool:
    """Whether a derivative is taken of one side, and the other is data: all examples share the parameters."""
    sides = (conflict.meeting.left, conflict.meeting.right)
    return sum(is_differentiated(flow, side.value) for side in sides) == 1


def _is_summed(conflict: Conflict, sums: set[tuple[Op, Value]], facts: Facts) -> bool:
    """Whether the function sums over an axis of one side that the map has taken away, so that nothing is left of it."""
    op, flow, shapes = conflict.meeting.op, facts.flow, facts.get(Shapes)
    sides = (conflict.meeting.left.value, conflict.meeting.right.value)
    numbers = [value for one, value in sums if one.argument("axis") is None and shapes.of(value).rank == 0]
    inside = [value for value in numbers if flow.places.within(flow.places.region_of_value(value), op.regions[0])]
    params = [param for param, given in Mapped(op).elements if given in sides and shapes.of(param).rank == 0]
    return any(depends(flow, value, [param]) for value in inside for param in params)


def _agreed(meeting: Meeting) -> str:
    members, other = sorted((meeting.left, meeting.right), key=lambda side: not is_stacked(side.dim))
    if meeting.how != "mapped" or not is_stacked(members.dim):
        return ""
    return f"{name_of(other.value)} has one entry for each `{axis_of(members.dim)}` of {name_of(members.value)}"


def _finding(conflict: Conflict, severity: Severity = Severity.ERROR) -> Obligation:
    sides = (conflict.meeting.left, conflict.meeting.right)
    members, shared = sorted(sides, key=lambda side: not is_stacked(side.dim))
    return violated(
        conflict,
        f"`vmap` maps `{axis_of(members.dim)}` together with `{axis_of(shared.dim)}` of {name_of(shared.value)}",
        f"each of `{axis_of(members.dim)}` sees all of {name_of(shared.value)} {shape_of(shared.dims)}",
        f"give {name_of(shared.value)} the entry `None` in `in_axes`",
        severity,
    )
