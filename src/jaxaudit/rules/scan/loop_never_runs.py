"""The rule `loop-never-runs`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Rule, proved


class LoopNeverRuns(Rule):
    """A loop counts up from a number to zero.

    ## What it does
    Looks at the bounds of `fori_loop` where both are known. A loop that counts up from a number to zero, or to the
    number before it, runs not even once.

    ## Why is this bad?
    Nothing is raised: the loop gives back what it started with.

    ## Example
        jax.lax.fori_loop(100, 0, body, x)

    ## Use instead
        jax.lax.fori_loop(0, 100, body, x)

    ## When it cannot tell
    Bounds that are not known are left alone. So are other loops that start above their end: an algorithm may have
    nothing to do for some sizes.
    """

    summary = "The bounds of a loop are the wrong way round."

    valid = (Example("def f(x):\n    return jax.lax.fori_loop(0, 10, lambda i, x: x * 2, x)\n", "from zero upwards"),)
    invalid = (
        Example(
            "def f(x, n=10):\n    return jax.lax.fori_loop(n, 0, lambda i, x: x * 2, x)\n\n"
            "def g(x):\n    return jax.lax.fori_loop(10, 0, lambda i, x: x * 2, x)  #!\n",
            "the wrong way round",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loop whose bounds are known."""
        for op in program.named("fori"):
            bounds = [_number(value, facts.flow) for value in op.operands[:2]]
            if len(bounds) == 2 and bounds[0] is not None and bounds[1] is not None:
                yield _judge(op, bounds[0], bounds[1])


def _number(value: Value, flow: Flow) -> int | None:
    made = flow.maker(value)
    constant = made.constant if made is not None and made.name == "py.const" else None
    return constant if isinstance(constant, int) and not isinstance(constant, bool) else None


def _judge(op: Op, start: int, stop: int) -> Obligation:
    if not (start > 1 and stop in (0, -1)):
        reason = f"the loop counts from {start} up to {stop}" if start <= stop else "it has nothing to go through here"
        return proved(LoopNeverRuns.name, op.span, reason)
    return Obligation(
        LoopNeverRuns.name,
        op.span,
        message=f"the loop counts up from {start} to {stop}, so it never runs",
        current="the body is left out, and what the loop carries stays as it was",
        expected="the lower bound comes first",
        suggestion="exchange the two bounds; the body sees the index count up",
    )
