"""The rule `mixed-ratio`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.meaning import Kind, Meaning, meanings_of
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Obligation, Rule, Step, proved


class MixedRatio(Rule):
    """A ratio `exp(a - b)` is taken of log-probabilities and plain probabilities.

    ## What it does
    Finds exponentials of a difference whose one side is the logarithm of probabilities and whose other side is
    probabilities.

    ## Why is this bad?
    The ratio of a policy to its old self must be one before the first update. Here it never is, clipping hides how far
    it is off, and nothing is raised.

    ## Example
        ratio = jnp.exp(jax.nn.log_softmax(new) - jax.nn.softmax(old))

    ## Use instead
        ratio = jnp.exp(jax.nn.log_softmax(new) - jax.nn.log_softmax(old))

    ## When it cannot tell
    A side that comes from code that is not followed may be anything; there is nothing to judge.
    """

    summary = "A ratio is the exponential of log-probabilities less plain probabilities."

    valid = """
    ## two logarithms
    def ratio(new, old):
        return jnp.exp(jax.nn.log_softmax(new) - jax.nn.log_softmax(old))
    """
    invalid = """
    ## a logarithm and no logarithm
    def ratio(new, old):
        return jnp.exp(jax.nn.log_softmax(new) - jax.nn.softmax(old))  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every exponential of a difference of two values with a known meaning."""
        meanings = meanings_of(facts)
        for ratio in program.mapping("exp"):
            difference = facts.flow.maker(ratio.operands[0]) if ratio.operands else None
            if difference is None or difference.function != "subtract":
                continue
            found = [meaning for one in difference.operands if (meaning := meanings.of(one)) is not None]
            plain = [one for one in found if one.kind is Kind.PROBABILITIES]
            logarithms = [one for one in found if one.kind is Kind.LOG_PROBABILITIES]
            if plain and logarithms:
                yield _mixed(difference, plain[0])
            elif len(logarithms) == 2:
                yield proved(difference.span, "both sides of the ratio are log-probabilities")


def _mixed(difference: Op, plain: Meaning) -> Obligation:
    return Obligation(
        difference.span,
        message="probabilities are subtracted from log-probabilities, or the other way round, in a ratio",
        current="the exponential of this difference is no ratio of probabilities",
        expected="both sides are log-probabilities",
        steps=(Step(plain.made.span, "these are probabilities"),),
        suggestion="take the logarithm of the probabilities, or store the log-probabilities",
    )
