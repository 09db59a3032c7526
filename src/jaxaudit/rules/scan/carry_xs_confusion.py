"""The rule `carry-xs-confusion`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes import Axes, Cause, Conflict, Meeting
from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Program
from jaxaudit.rules.axes._shared.phrases import agreements, axis_of, both, name_of, shape_of, violated
from jaxaudit.rules.base import Example, Obligation, Rule, Severity

_PROGRAM = """
STEPS, CHANNELS = 16, 16
RATES = jnp.ones(CHANNELS)


def mix(xs):
    def step({body}):
        return {rate} * h + x, h

    return jax.lax.scan(step, jnp.zeros(CHANNELS), {xs}){mark}


mix(jnp.zeros((STEPS, CHANNELS)))
"""


class CarryXsConfusion(Rule):
    """Something that is the same in every step is put among the inputs that `scan` steps through.

    ## What it does
    Compares the leading axes of everything that one `scan` steps through. Where they have different names, and one of
    the arrays has the other's axis elsewhere, the array with the odd name is no sequence of steps.

    ## Why is this bad?
    A vector with one decay rate for each channel, scanned along with a sequence, gives each step one number for all
    channels. With as many steps as channels nothing is raised.

    ## Example
        STEPS, CHANNELS = 16, 16
        jax.lax.scan(step, h, (jnp.zeros((STEPS, CHANNELS)), jnp.ones(CHANNELS)))

    ## Use instead
        STEPS, CHANNELS = 16, 16
        rates = jnp.ones(CHANNELS)
        jax.lax.scan(lambda h, x: step(h, x, rates), h, jnp.zeros((STEPS, CHANNELS)))

    ## When it cannot tell
    When the sizes have no names. Where no array has the other's axis it is a warning: the two may be one thing.
    """

    summary = "An array that does not go by steps is scanned along with one that does."
    needs = (Axes,)

    valid = (
        Example(_PROGRAM.format(body="h, x", rate="RATES", xs="xs", mark=""), "seen by every step"),
        Example(
            _PROGRAM.format(body="h, x", rate="x[1]", xs="(xs, jnp.ones((STEPS, CHANNELS)))", mark="").replace(
                "+ x,", "+ x[0],"
            ),
            "both go by steps",
        ),
    )
    invalid = (
        Example(
            _PROGRAM.format(body="h, x", rate="x[1]", xs="(xs, RATES)", mark="  #!").replace("+ x,", "+ x[0],"),
            "one rate a step",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every `scan` over named axes."""
        axes = facts.get(Axes)
        yield from agreements(axes, _agreed)
        yield from (_finding(one) for one in axes.conflicts if one.meeting.how == "scanned")


def _agreed(meeting: Meeting) -> str:
    return f"one axis is stepped through, {both(meeting)}" if meeting.how == "scanned" else ""


def _finding(conflict: Conflict) -> Obligation:
    meeting, astray = conflict.meeting, conflict.astray
    odd = meeting.right if astray is meeting.left else meeting.left
    return violated(
        conflict,
        f"{name_of(odd.value)} goes by `{axis_of(odd.dim)}`, but is scanned along `{axis_of(astray.dim)}`",
        f"every step sees all of {name_of(odd.value)} {shape_of(odd.dims)}",
        f"take {name_of(odd.value)} out of `xs`; the body can use it from outside",
        Severity.ERROR if conflict.cause is Cause.MISPLACED else Severity.WARNING,
    )
