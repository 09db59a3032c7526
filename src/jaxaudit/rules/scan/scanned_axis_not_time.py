"""The rule `scanned-axis-not-time`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes import Axes, Cause, Conflict, Meeting
from jaxaudit.analyses.axes.budgets import RepeatedLength, repeated_lengths
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Program
from jaxaudit.rules.axes._shared.phrases import agreements, axis_of, name_of, violated
from jaxaudit.rules.base import Example, Obligation, Rule, Step

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


class ScannedAxisNotTime(Rule):
    """`scan` steps through another axis than the one its body is written for.

    ## What it does
    In each step the body sees its inputs without their first axis. Where what is left meets an array of another name
    (the carry, for example), and it is the scanned axis that has this name, the wrong axis is scanned. A scan without
    inputs that runs as often as its carry has rows is reported where the constant that is multiplied with this number
    elsewhere becomes the length of nothing.

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
    When the sizes have no names.
    """

    summary = "`scan` steps through another axis than its body expects."
    needs = (Axes, Shapes)

    valid = (
        Example(_PROGRAM.format(xs="rewards", mark=""), "step by step"),
        Example(_ROLLOUT.format(length="STEPS", mark=""), "as many steps as counted on"),
    )
    invalid = (
        Example(_PROGRAM.format(xs="rewards.T", mark="  #!"), "env by env"),
        Example(_ROLLOUT.format(length="ENVS", mark="  #!"), "as many steps as environments"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every `scan` over named axes."""
        axes = facts.get(Axes)
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
