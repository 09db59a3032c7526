"""The rule `unrelated-axes-joined`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes import Axes, Cause, Conflict, Meeting
from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Program
from jaxaudit.rules.axes._shared.phrases import agreements, axes_facts, both, broadcasts, violated
from jaxaudit.rules.base import Example, Obligation, Rule, unknown
from jaxaudit.rules.flow.silent_broadcast import is_broadcast


class UnrelatedAxesJoined(Rule):
    """Two axes that are different things are summed or added together, and only their sizes agree.

    ## What it does
    Follows the names of axes (the constants that gave their sizes, the names in annotations) and compares them
    wherever an op takes two axes for one: matrix products, `einsum`, arithmetic. It reports a meeting of two axes with
    different names where the fitting axis stands elsewhere in the same operand.

    ## Why is this bad?
    With as many query points as training points, a transposed kernel matrix times the weights of the training points
    is a valid product that means nothing. It raises only when one of the two numbers is changed.

    ## Example
        TRAIN, QUERY = 25, 25
        jnp.zeros((TRAIN, QUERY)) @ jnp.zeros(TRAIN)

    ## Use instead
        TRAIN, QUERY = 25, 25
        jnp.zeros((TRAIN, QUERY)).T @ jnp.zeros(TRAIN)

    ## When it cannot tell
    When sizes have no names. Two names for axes that meet decide nothing alone: people give one thing two names.
    """

    summary = "Two axes that are different things meet, and only their sizes agree."
    needs = (Axes,)

    valid = (
        Example("TRAIN, QUERY = 25, 25\ny = jnp.zeros((TRAIN, QUERY)).T @ jnp.zeros(TRAIN)\n", "transposed"),
        Example(
            "OBS, HIDDEN = 8, 8\n\ndef f(key):\n    return jnp.zeros((4, OBS)) @ jnp.zeros((HIDDEN, 3))\n",
            "two names for what may be one thing",
        ),
        Example(
            "x, y = jnp.linspace(0.0, 1.0, 50), jnp.linspace(0.0, 1.0, 50)\nz = jnp.sin(x[:, None] - y)\n"
            "even = 0.5 * (z + z.T)\n",
            "made symmetric",
        ),
    )
    invalid = (
        Example(
            "from beartype import beartype\nfrom jaxtyping import Array, Float, jaxtyped\n\n"
            "@jaxtyped(typechecker=beartype)\n"
            'def f(x: Float[Array, "batch time"], y: Float[Array, "time batch"]):\n    return x * y  #!\n',
            "declared as different",
        ),
        Example(
            "from jaxtyping import Array, Float\n\n"
            'def f(x: Float[Array, "batch time"], y: Float[Array, "time batch"]):\n    return x * y  #?\n',
            "said to be different, in annotations that nobody checks: a warning",
        ),
        Example(
            "def f(x, w):  # jaxaudit: axes x = batch obs\n    # jaxaudit: axes y = hidden out\n    y = w * 2\n"
            "    return x @ y  #!\n",
            "named in comments",
        ),
        Example(
            "TRAIN, QUERY = 25, 25\ny = jnp.zeros((TRAIN, QUERY)) @ jnp.zeros(TRAIN)  #!\n", "sums over the queries"
        ),
        Example(
            "BATCH, OBS, ACT = 9, 6, 6\n\ndef f(obs, act):\n    return jnp.concatenate([obs, act], axis=0)  #!\n\n"
            "f(jnp.ones((BATCH, OBS)), jnp.ones((BATCH, ACT)))\n",
            "joined along the batch",
        ),
        Example(
            "STEPS, ENVS = 8, 8\ny = jnp.zeros((STEPS, ENVS)) * jnp.zeros((ENVS, STEPS))  #!\n",
            "one of them is transposed",
        ),
        Example(
            "x, t = jnp.linspace(0.0, 1.0, 50), jnp.arange(50.0)\nwave = jnp.sin(x[:, None] - t)\n"
            "heat = jnp.exp(-t[:, None] * x)\ny = wave + heat  #!\n",
            "two grids, called nothing",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every product and every elementwise op on named axes."""
        axes = axes_facts(facts)
        joined = [one for one in axes.conflicts if one.meeting.how in ("elementwise", "contracted")]
        found = [_judged(one) for one in joined if not is_broadcast(one)]
        yield from [*agreements(axes, _agreed), *found]


def _agreed(meeting: Meeting) -> str:
    if meeting.how == "contracted":
        return f"one axis is summed over, {both(meeting)}"
    alike = meeting.how == "elementwise" and not broadcasts(meeting)
    return f"one axis meets itself, {both(meeting)}" if alike else ""


def _judged(conflict: Conflict) -> Obligation:
    left, right = conflict.left.name, conflict.right.name
    if conflict.cause is Cause.JOINED:
        return violated(
            conflict,
            f"arrays of `{left}` and `{right}` are put one after the other along another axis, which they share",
            f"they are joined along `{left}` and `{right}`, and the axis that they share stays as it is",
            "name the other axis: `axis=-1`",
        )
    if conflict.cause not in (Cause.MISPLACED, Cause.DECLARED):
        reason = f"`{left}` and `{right}` meet here; whether they are one thing is not known"
        return unknown(conflict.meeting.op.span, reason)
    fits = "" if conflict.fitting is None else f"; axis {conflict.fitting[1]} would fit"
    verb = "summed over" if conflict.meeting.how == "contracted" else "lined up"
    return violated(
        conflict,
        f"`{left}` and `{right}` are {verb} together{fits}",
        "axes that mean the same meet",
        "transpose or index the operand so that the fitting axis comes to stand here",
    )
