"""The rule `scanned-axis-not-time`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes import Axes, Cause, Conflict, Meeting
from jaxaudit.analyses.axes.budgets import RepeatedLength, repeated_lengths
from jaxaudit.analyses.axes.courses import Along, directed
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Program
from jaxaudit.rules.axes._shared.phrases import agreements, axis_of, makers, name_of, shape_of, violated
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved

_PROGRAM = """
STEPS, ENVS = 8, 8


def returns(rewards):
    def step(total, reward):
        total = reward + 0.9 * total
        return total, total

    return jax.lax.scan(step, jnp.zeros(ENVS), {xs}){mark}


returns(jnp.zeros((STEPS, ENVS)))
"""

_ROLLOUT = """
ENVS, STEPS, TOTAL = 8, 64, 4096
UPDATES = TOTAL // (ENVS * STEPS)


def rollout(state):
    return jax.lax.scan(lambda s, _: (s * 0.9, s), state, None, {length}){mark}


for _ in range(UPDATES):
    rollout(jnp.zeros(ENVS))
"""


_EPISODES = """
def episode(key):
    def step(x, key):
        x = x + jax.random.normal(key)
        return x, jnp.exp(-x * x)

    return jax.lax.scan(step, 0.0, jax.random.split(key, 50))[1]


def to_go(rewards):
    return {total}{mark}


to_go(jax.vmap(episode)(jax.random.split(jax.random.key(0), 8)))
"""


class ScannedAxisNotTime(Rule):
    """`scan`, or a cumulative function, goes through another axis than the one that has an order.

    ## What it does
    In each step the body sees its inputs without their first axis. Where what is left meets an array of another name
    (the carry, for example), and it is the scanned axis that has this name, the wrong axis is scanned. A scan without
    inputs that runs as often as its carry has rows is reported where the constant that is multiplied with this number
    elsewhere becomes the length of nothing.

    Cumulative functions, `diff` and scans that run backwards need an axis whose elements follow one another: what a
    scan stacked, what was counted or sorted. Along an axis with one element for each key (or shuffled ones) they are
    wrong where the array has an axis that a loop made step by step as well.

    ## Why is this bad?
    Rewards laid out as `(envs, steps)` that are scanned for returns are summed over environments. With as many steps
    as environments nothing is raised.

    ## Example
        STEPS, ENVS = 8, 8
        jax.lax.scan(step, jnp.zeros(ENVS), rewards.T)  # (ENVS, STEPS)

    ## Use instead
        STEPS, ENVS = 8, 8
        jax.lax.scan(step, jnp.zeros(ENVS), rewards)  # (STEPS, ENVS)

    ## When it cannot tell
    When the sizes have no names. A cumulative sum that counts, is compared or searched in, or is divided by how many
    elements there were, may be along any axis.
    """

    summary = "`scan` or a cumulative function goes through another axis than is meant."
    needs = (Axes, Shapes)

    valid = (
        Example(_PROGRAM.format(xs="rewards", mark=""), "step by step"),
        Example(_ROLLOUT.format(length="STEPS", mark=""), "as many steps as counted on"),
        Example(_EPISODES.format(total="jnp.cumsum(rewards[:, ::-1], axis=1)[:, ::-1]", mark=""), "the steps to come"),
        Example(_EPISODES.format(total="jnp.diff(rewards)", mark=""), "from step to step"),
        Example(
            _EPISODES.format(total="jnp.cumsum(rewards, axis=0) / jnp.arange(1, 9)[:, None]", mark=""),
            "the mean of more and more episodes",
        ),
        Example(
            """
def forces(key):
    return jax.random.normal(key) * jnp.linspace(0.0, 1.0, 20)


path = jnp.cumsum(jax.vmap(forces)(jax.random.split(jax.random.key(0), 100)), axis=0)
""",
            "noise that is added up, beside a grid",
        ),
        Example(_EPISODES.format(total="jnp.cumsum(rewards, axis=0) < 3.0", mark=""), "as many episodes as are needed"),
    )
    invalid = (
        Example(_PROGRAM.format(xs="rewards.T", mark="  #!"), "env by env"),
        Example(_ROLLOUT.format(length="ENVS", mark="  #!"), "as many steps as environments"),
        Example(_EPISODES.format(total="jnp.cumsum(rewards[::-1], axis=0)[::-1]", mark="  #!"), "other episodes"),
        Example(_EPISODES.format(total="jnp.cumsum(rewards, axis=0)", mark="  #!"), "forwards"),
        Example(_EPISODES.format(total="jax.lax.cumlogsumexp(rewards, reverse=True)", mark="  #!"), "of `lax`"),
        Example(_EPISODES.format(total="jnp.diff(rewards, axis=0)", mark="  #!"), "from episode to episode"),
        Example(
            _EPISODES.format(
                total="jax.lax.scan(lambda g, r: (r + 0.9 * g,) * 2, jnp.zeros(50), rewards, reverse=True)[1]",
                mark="  #!",
            ),
            "scanned backwards",
        ),
        Example(
            """
def flight(state):
    def step(state, _):
        state = 0.9 * state
        return state, state.sum()

    return jax.lax.scan(step, state, None, length=50)[1]


states = jax.random.normal(jax.random.key(0), (8, 3))
costs = jax.vmap(flight)(states)
to_go = jax.lax.associative_scan(jnp.add, costs, reverse=True)  #!
""",
            "one flight for each drawn state",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every `scan` over named axes, and all that goes along an axis that has an order, or none."""
        axes = facts.get(Axes)
        yield from map(_along, directed(program, facts.flow, facts.get(Shapes)))
        yield from agreements(axes, _agreed)
        yield from map(_finding, axes.caused(Cause.SCANNED))
        yield from map(_repeated, repeated_lengths(facts.flow, facts.get(Shapes)))


def _agreed(meeting: Meeting) -> str:
    return f"each step takes one of `{axis_of(meeting.left.dim)}`" if meeting.how == "scanned" else ""


def _finding(conflict: Conflict) -> Obligation:
    meeting, astray = conflict.meeting, conflict.astray
    other = meeting.right if astray is meeting.left else meeting.left
    left, scanned = axis_of(astray.dim), axis_of(other.dim)
    return violated(
        conflict,
        f"`scan` steps through `{scanned}`, but its body is written for steps of `{left}`",
        f"each step sees one of `{left}`, and all of `{scanned}`",
        f"swap the axes so that `{left}` comes first",
    )


def _along(one: Along) -> Obligation:
    if one.ordered is None:
        return proved(one.op.span, f"it goes along `{axis_of(one.dims[one.place])}`, whose elements follow one another")
    array, here, there = name_of(one.array), axis_of(one.dims[one.place]), axis_of(one.dims[one.ordered])
    what = one.op.function if one.op.name == "array.scan" else one.op.name
    return Obligation(
        one.op.span,
        message=f"`{what}` goes along `{here}`, whose elements do not follow one another; `{there}` has an order",
        current=f"{array} is {shape_of(one.dims)}; each element of `{here}` is joined with others that are independent",
        expected=f"it goes along axis {one.ordered}, `{there}`",
        steps=makers(one.dims[one.place], one.dims[one.ordered]),
        suggestion=f"use axis {one.ordered}, or put `{there}` first",
    )


def _repeated(one: RepeatedLength) -> Obligation:
    length, meant = one.length.name, one.meant.name
    return Obligation(
        one.scan.span,
        message=f"`scan` runs `{length}` times, the rows of {name_of(one.carried)}; `{meant}` is no length at all",
        current=f"what is collected has `{length}` times `{length}` elements, and nothing has `{meant}`",
        expected=f"`scan` runs `{meant}` times",
        steps=(Step(one.counted.span, f"`{length}` times `{meant}` elements are counted on here"),),
        suggestion=f"use `{meant}` as the length",
    )
