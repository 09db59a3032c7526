"""The rule `started-from-other-end`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.starts import Started, started
from jaxaudit.ir import Program
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, named, proved


class StartedFromOtherEnd(Rule):
    """A recursion starts from what lies at one end of the steps, and goes through them from the other.

    ## What it does
    Asks of every scan that builds on its carry where its start lies. What is computed from the last element of the
    steps lies behind them; so does what meets the state that another loop over the same steps, and over what this scan
    gives, leaves at its end. Then the scan has to run backwards. What is computed from the first element lies before
    them.

    ## Why is this bad?
    The first step is continued with what belongs behind the last one. Shapes fit, nothing is raised, and the results
    belong to other steps than those they are used for.

    ## Example
        _, smoothed = jax.lax.scan(smooth, means[-1], means[:-1])

    ## Use instead
        _, smoothed = jax.lax.scan(smooth, means[-1], means[:-1], reverse=True)

    ## When it cannot tell
    Scans of whose start nothing tells where it lies are not listed. Where the last element is one of the steps too, the
    program may go around in a circle, or start once more with what a first pass left: this is a warning.
    """

    summary = "A recursion starts from one end of its steps, and runs through them from the other."

    valid = """
    ## backwards from the last one
    def smooth(means, gain):
        def step(later, now):
            later = now + gain * (later - now)
            return later, later
        return jax.lax.scan(step, means[-1], means[:-1], reverse=True)[1], jax.lax.scan(step, means[0], means[1:])[1]

    ## around in a circle, and from nothing
    def changes(x):
        there = jax.lax.scan(lambda before, now: (now, now - before), x[-1], x)[1]
        return there, jax.lax.scan(lambda m, v: (0.9 * m + v, m), jnp.zeros_like(x[-1]), x)[1]

    ## on from the end of something else
    def forecast(history, noise):
        return jax.lax.scan(lambda x, e: (0.9 * x + e, x), history[-1], noise)[1]

    ## the cost of the end
    def control(x, drift, price, end):
        def back(value, price):
            gain = value / (1.0 + value)
            return price + value * (1.0 - gain), gain
        gains = jax.lax.scan(back, end, price, reverse=True)[1]
        step = lambda x, now: (now[0] * x - now[2] * x, now[1] * x * x)
        last, costs = jax.lax.scan(step, x, (drift, price, gains))
        return costs.sum() + end * last ** 2

    ## away from where it began
    def shot(x, forces):
        last, path = jax.lax.scan(lambda x, f: (x + 0.1 * f * x, x), x, forces)
        other, _ = jax.lax.scan(lambda x, f: (x + 0.1 * f[0] * f[1], x), x, (forces, path))
        return last - x, other - x
    """
    invalid = """
    ## forwards from the last one
    def smooth(means, gain):
        def step(later, now):
            later = now + gain * (later - now)
            return later, later
        return jax.lax.scan(step, means[-1], means[:-1])[1]  #!

    ## backwards from the first one
    def run(x):
        return jax.lax.scan(lambda m, v: (0.9 * m + 0.1 * v, m), x[0], x[1:], reverse=True)[1]  #!

    ## the way back through a table
    def path(scores, links):
        def forwards(best, score):
            every = best[:, None] + links
            best = every.max(axis=0) + score
            return best, (best, every.argmax(axis=0))
        _, (bests, origins) = jax.lax.scan(forwards, scores[0], scores[1:])
        def back(state, origin):
            state = origin[state]
            return state, state
        return jax.lax.scan(back, jnp.argmax(bests[-1]), origins)[1]  #?

    ## the cost of the end
    def control(x, drift, price, end):
        def back(value, price):
            gain = value / (1.0 + value)
            return price + value * (1.0 - gain), gain
        gains = jax.lax.scan(back, end, price)[1]  #!
        step = lambda x, now: (now[0] * x - now[2] * x, now[1] * x * x)
        last, costs = jax.lax.scan(step, x, (drift, price, gains))
        return costs.sum() + end * last ** 2
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every recursion whose start lies on a side of the steps that is known."""
        if program.front_end == "source":
            yield from map(_judged, started(program, facts.flow))


def _judged(one: Started) -> Obligation:
    if one.behind is one.backwards:
        return proved(one.op.span, f"the start lies at the {'end' if one.behind else 'beginning'}, where it sets out")
    start = named(one.start, "what it starts from")
    ends = ("behind the last", "first", "backwards") if one.behind else ("before the first", "last", "forwards")
    return Obligation(
        one.op.span,
        severity=Severity.ERROR if one.sure else Severity.WARNING,
        message=f"{start} lies {ends[0]} step, and the scan begins with the {ends[1]} one",
        current=f"the {ends[1]} step is continued with what belongs to the other end",
        expected=f"a recursion sets out from where its start lies: it runs {ends[2]}",
        steps=(Step(one.by.span, f"this tells where {start} lies"),) if one.by.span != one.op.span else (),
        suggestion=f"give the scan `reverse={one.behind}`",
    )
