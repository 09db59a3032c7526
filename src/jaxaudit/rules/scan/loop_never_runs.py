"""The rule `loop-never-runs`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.rules.base import Obligation, Rule, Severity, proved, unknown

_OPEN = "where it begins is not known"


class LoopNeverRuns(Rule):
    """A loop counts up from a number to zero, or leaves its first turn out.

    ## What it does
    Looks at the bounds of every `fori_loop`. A loop that counts up from a number to zero, or to the number before it,
    runs not even once. One that begins at 1, and whose body does not ask which turn it is, runs once less than its
    upper bound says, unless the first turn was taken before the loop.

    ## Why is this bad?
    Nothing is raised: the loop gives back what it started with, or does less than it should.

    ## Example
        jax.lax.fori_loop(100, 0, body, x)

    ## Use instead
        jax.lax.fori_loop(0, 100, body, x)

    ## When it cannot tell
    Where a bound is not known. Other loops that start above their end are left alone: an algorithm may have nothing to
    do for some sizes.
    """

    summary = "The bounds of a loop are the wrong way round, or leave a turn out."

    valid = """
    ## from zero upwards
    def f(x):
        return jax.lax.fori_loop(0, 10, lambda i, x: x * 2, x)

    ## the first turn comes before
    def step(x):
        return x * 2

    def f(x, n):
        return jax.lax.fori_loop(1, n, lambda i, x: step(x), step(x))
    """
    invalid = """
    ## the wrong way round
    def f(x, n=10):
        return jax.lax.fori_loop(n, 0, lambda i, x: x * 2, x)

    def g(x):
        return jax.lax.fori_loop(10, 0, lambda i, x: x * 2, x)  #!

    ## once less
    def f(x, epochs):
        return jax.lax.fori_loop(1, epochs, lambda _, x: x * 2, x)  #?
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loop that counts."""
        for op in program.named("fori"):
            loop = Loop.of(op)
            bounds = [_number(value, facts.flow) for value in op.operands[:2]]
            if len(bounds) == 2 and bounds[0] is not None and bounds[1] is not None:
                yield _judge(op, bounds[0], bounds[1])
            elif loop is not None and loop.counter is not None and facts.flow.is_read(loop.counter):
                yield proved(op.span, "its body knows which turn it is")
            elif loop is None or bounds[:1] != [1]:
                first = bounds[:1] == [0]
                yield (proved if first else unknown)(op.span, "it begins at 0" if first else _OPEN)
            else:
                yield _one_less(op, loop, facts.flow)


def _one_less(op: Op, loop: Loop, flow: Flow) -> Obligation:
    """Judge a loop that begins at 1 and does not count: its first turn may have been taken before it."""
    makers = [made for one in loop.carried if (made := flow.maker(one.start)) is not None]
    before = {(made.name, made.qualified or made.callee) for made in makers}
    if any((one.name, one.qualified or one.callee) in before for one in loop.body.walk()):
        return unknown(op.span, "whether the first turn was taken before the loop is not known")
    return Obligation(
        op.span,
        severity=Severity.WARNING,
        message="the loop begins at 1 and does not count, so it runs once less than its bound says",
        current="the body does not ask which turn it is, so only how many there are matters: one less than the bound",
        expected="as many turns as the bound says",
        suggestion="begin at 0",
    )


def _number(value: Value, flow: Flow) -> int | None:
    made = flow.maker(value)
    constant = made.constant if made is not None and made.name == "py.const" else None
    return constant if isinstance(constant, int) and not isinstance(constant, bool) else None


def _judge(op: Op, start: int, stop: int) -> Obligation:
    if not (start > 1 and stop in (0, -1)):
        reason = f"the loop counts from {start} up to {stop}" if start <= stop else "it has nothing to go through here"
        return proved(op.span, reason)
    return Obligation(
        op.span,
        message=f"the loop counts up from {start} to {stop}, so it never runs",
        current="the body is left out, and what the loop carries stays as it was",
        expected="the lower bound comes first",
        suggestion="exchange the two bounds; the body sees the index count up",
    )
