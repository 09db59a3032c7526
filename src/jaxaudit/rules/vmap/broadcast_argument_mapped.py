"""The rule `broadcast-argument-mapped`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes import Axes, Cause, Conflict, Meeting
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import is_differentiated
from jaxaudit.ir import Program
from jaxaudit.rules.axes._shared.phrases import agreements, axes_facts, axis_of, is_stacked, name_of, shape_of, violated
from jaxaudit.rules.base import Example, Obligation, Rule, Severity

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
    Compares the axes that one `vmap` maps together. Where one of them was stacked by an earlier `vmap` (the members of
    an ensemble) and the other has the name of something else (the examples of a batch), the second was to be shared.

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
    unless a derivative is taken with respect to one of the arguments and not to the other.
    """

    summary = "An argument that was to be shared is mapped over an axis of equal size."
    needs = (Axes,)

    valid = (Example(_PROGRAM.format(options=", in_axes=(0, None)", mark=""), "shared"),)
    invalid = (
        Example(_PROGRAM.format(options="", mark="  #!"), "mapped by default"),
        Example(
            "TASKS, BATCH = 10, 10\ny = jax.vmap(lambda a, b: a + b)(jnp.zeros(TASKS), jnp.zeros(BATCH))  #?\n",
            "two names",
        ),
        Example(
            "HIDDEN, BATCH = 10, 10\n\n\n"
            "def loss(w, x):\n    return jax.vmap(lambda v, a: v @ a)(w, x).sum()  #!\n\n\n"
            "g = jax.grad(loss)(jnp.ones((HIDDEN, 3)), jnp.ones((BATCH, 3)))\n",
            "parameters, row by row",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every `vmap` over named axes."""
        axes = axes_facts(facts)
        found = [_finding(one) for one in axes.caused(Cause.STACKED)]
        chance = [one for one in axes.caused(Cause.TOGETHER) if one.meeting.how == "mapped"]
        flow = facts.flow
        found.extend(_finding(one, Severity.ERROR if _learned(one, flow) else Severity.WARNING) for one in chance)
        yield from [*agreements(axes, _agreed), *found]


def _learned(conflict: Conflict, flow: Flow) -> bool:
    """Whether a derivative is taken of one side, and the other is data: all examples share the parameters."""
    sides = (conflict.meeting.left, conflict.meeting.right)
    return sum(is_differentiated(flow, side.value) for side in sides) == 1


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
