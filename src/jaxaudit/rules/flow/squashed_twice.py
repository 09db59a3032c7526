"""The rule `squashed-twice`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.meaning import Kind, Meaning, meanings_of
from jaxaudit.analyses.meaning.samples import readers
from jaxaudit.analyses.meaning.squashing import is_tanh, squashings
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, proved

_KINDS = {"tanh": Kind.SQUASHED, "sigmoid": Kind.PROBABILITIES}
"""What each squashing function makes, so that it has no business to be given it."""


class SquashedTwice(Rule):
    """A value goes through `tanh` or a sigmoid a second time.

    ## What it does
    Finds a `tanh` of what a `tanh` gave and a sigmoid of what a sigmoid gave, in whatever functions the two stand.

    ## Why is this bad?
    `tanh(tanh(x))` never comes near the bounds: its largest value is 0.76. An action that is squashed by the policy and
    again by the environment cannot reach its limits, and a log-probability that was computed for the first is that of
    another action. A sigmoid of probabilities lies between 0.5 and 0.73.

    ## Example
        action = jnp.tanh(mean + std * noise)
        return step(state, jnp.tanh(action))

    ## Use instead
        action = jnp.tanh(mean + std * noise)
        return step(state, action)

    ## When it cannot tell
    Layers of a network may be squashed one after the other on purpose, so this is a warning. It is an error for the
    sample of a normal distribution, whose bounds are the reason for the first `tanh`.
    """

    summary = "A value goes through `tanh` or a sigmoid a second time."

    valid = """
    ## squashed once
    def act(mean, key):
        return jnp.tanh(mean + 0.3 * jax.random.normal(key, mean.shape)) * 2.0
    """
    invalid = """
    ## the output of a layer
    def squash(mean):
        action = jnp.tanh(mean)
        return jnp.tanh(action) * 2.0  #?

    ## a sample
    def limit(action):
        return jnp.tanh(action)  #!

    def act(mean, key):
        return limit(jnp.tanh(mean + 0.3 * jax.random.normal(key, mean.shape)))
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every squashed sample, and every `tanh` and sigmoid of a squashed value."""
        flow, meanings = facts.flow, meanings_of(facts)
        judged: set[Op] = set()
        for one in squashings(facts):
            again = next((op for value in one.action for op in readers(flow, value) if is_tanh(op)), None)
            if again is None:
                yield proved(one.op.span, "the sample is squashed here and nowhere else")
            else:
                judged.add(again)
                yield _twice(again, Step(one.op.span, "the sample is squashed here"), Severity.ERROR)
        for op in program.mapping(*_KINDS):
            found = meanings.of(op.operands[0]) if len(op.operands) == 1 and not op.is_derived and not op.api else None
            if op not in judged and found is not None and _is_same(op, found):
                yield _twice(op, Step(found.made.span, f"it is squashed by `{found.how}` here"), Severity.WARNING)


def _is_same(op: Op, found: Meaning) -> bool:
    """Whether an op applies the very function that gave a value its meaning."""
    return found.kind is _KINDS[op.function] and found.how == op.function


def _twice(op: Op, first: Step, severity: Severity) -> Obligation:
    return Obligation(
        op.span,
        severity=severity,
        message=f"the value is squashed by `{op.function}` a second time",
        current="it never comes near its bounds, and what was computed for the first result is of another value",
        expected="a value is squashed once",
        steps=(first,),
        suggestion=f"leave one `{op.function}` out",
    )
