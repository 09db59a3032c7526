"""The rule `carry-xs-confusion`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes import Axes, Cause, Conflict, Meeting
from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Program
from jaxaudit.ir.ops import LOOPS
from jaxaudit.rules.axes._shared.phrases import agreements, axis_of, both, name_of, names_of, shape_of, violated
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


_ENTRIES = """
STEPS, CHANNELS = 16, 16


def mix(rates, xs):
    def step(h, x):
        return {rate} * h + x, h

    return {loop}{mark}


mix(jnp.ones(STEPS), jnp.zeros((STEPS, CHANNELS)))
"""


class CarryXsConfusion(Rule):
    """Something that is the same in every step is put among what a loop steps through, or the other way round.

    ## What it does
    Compares the leading axes of everything that one `scan` steps through. Where they have different names, and one of
    the arrays has the other's axis elsewhere, the array with the odd name is no sequence of steps.
    And where a loop goes over a named axis, and its body reads an array with that axis from outside, all of it, so that
    the axis meets another one, each step was to have its own entry.

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
        Example(
            _ENTRIES.format(
                rate="rates[i]",
                loop="jax.lax.fori_loop(0, STEPS, lambda i, h: rates[i] * h, jnp.zeros(CHANNELS))",
                mark="",
            ).replace("def step(h, x):\n        return rates[i] * h + x, h\n\n    ", ""),
            "one entry a step, by its index",
        ),
        Example(
            """
            STEPS, CHANNELS = 16, 16

            def attend(xs):
                def step(seen, i):
                    weights = jnp.where(jnp.arange(STEPS) <= i, 1.0, 0.0)
                    return seen, (weights[:, None] * xs).sum(axis=0)

                return jax.lax.scan(step, 0.0, jnp.arange(STEPS))

            attend(jnp.zeros((STEPS, CHANNELS)))
            """,
            "every step looks at all of them",
        ),
    )
    invalid = (
        Example(
            _PROGRAM.format(body="h, x", rate="x[1]", xs="(xs, RATES)", mark="  #!").replace("+ x,", "+ x[0],"),
            "one rate a step",
        ),
        Example(
            _ENTRIES.format(rate="rates", loop="jax.lax.scan(step, jnp.zeros(CHANNELS), xs)", mark="  #!"),
            "all of them in every step",
        ),
        Example(
            _ENTRIES.format(
                rate="jnp.exp(-rates)",
                loop="jax.lax.fori_loop(0, STEPS, lambda i, h: step(h, xs[i])[0], jnp.zeros(CHANNELS))",
                mark="  #!",
            ),
            "in a loop that counts",
        ),
        Example(
            """
            STEPS, CHANNELS = 16, 16

            def decayed(h):
                rates = jnp.linspace(0.9, 0.99, STEPS)
                for _ in range(STEPS):  #!
                    h = h * rates
                return h

            decayed(jnp.ones(CHANNELS))
            """,
            "in a loop of Python",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every `scan` over named axes."""
        axes = facts.get(Axes)
        yield from agreements(axes, _agreed)
        yield from (_finding(one) for one in axes.conflicts if one.meeting.how == "scanned")
        yield from (_whole(one) for one in axes.caused(Cause.WHOLE) if one.blamed.name in LOOPS)


def _agreed(meeting: Meeting) -> str:
    return f"one axis is stepped through, {both(meeting)}" if meeting.how == "scanned" else ""


def _whole(conflict: Conflict) -> Obligation:
    here, other = names_of(conflict)
    name = name_of(conflict.fitting[0] if conflict.fitting is not None else conflict.astray.value)
    return violated(
        conflict,
        f"the loop goes over `{here}`, and its body reads all of {name} where one entry a step is meant",
        f"each step has its own entry of {name}; here all of `{here}` meet `{other}`",
        f"put {name} into `xs`, or index it by the step",
    )


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
