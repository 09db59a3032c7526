"""The rule `malformed-entropy`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.meaning import Kind, Meaning, Meanings, meanings_of
from jaxaudit.analyses.queries import reached
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import NORMALISED_EXPONENTIALS, SUMS_OF_TWO
from jaxaudit.ir.ops import ELEMENTWISE
from jaxaudit.rules.base import Obligation, Rule, Step, named, proved


class MalformedEntropy(Rule):
    """A sum over all outcomes has the form of an entropy or divergence, with a wrong factor.

    ## What it does
    Looks at sums over classes of a product. In an entropy or a divergence, log-probabilities are weighted by
    probabilities. Here they are weighted by log-probabilities, or raw scores stand where log-probabilities belong.

    ## Why is this bad?
    The number moves like an entropy for a while and is none. An entropy of raw scores changes when a constant is
    added to all of them, so that a bonus on it drives the scores apart for nothing.

    ## Example
        entropy = -jnp.sum(jax.nn.softmax(logits) * logits, axis=-1)

    ## Use instead
        entropy = -jnp.sum(jax.nn.softmax(logits) * jax.nn.log_softmax(logits), axis=-1)

    ## When it cannot tell
    The expected score `sum(p * x)` is meant where it is not negated, or where `logsumexp` of the scores is added.
    """

    summary = "A sum over outcomes is weighted by logarithms, or is an entropy of raw scores."

    valid = """
    ## weighted by probabilities
    def divergence(a, b):
        p, q = jax.nn.log_softmax(a), jax.nn.log_softmax(b)
        return jnp.sum(jnp.exp(p) * (p - q), axis=-1)
    """
    invalid = """
    ## weighted by logarithms
    def divergence(a, b):
        p, q = jax.nn.log_softmax(a), jax.nn.log_softmax(b)
        return jnp.sum(p * (p - q), axis=-1)  #!

    ## of raw scores
    def entropy(logits):
        return -jnp.sum(jax.nn.softmax(logits) * logits, axis=-1)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every sum of a product in which one factor is a logarithm, or raw scores beside their softmax."""
        meanings = meanings_of(facts)
        for total in program.named("array.reduce"):
            product = facts.flow.maker(total.operands[0]) if total.operands and total.function == "sum" else None
            if product is not None and product.function == "multiply" and len(product.operands) == 2:
                first, second = product.operands
                judged = [_judge(total, product, *pair, meanings) for pair in ((first, second), (second, first))]
                yield from (one for one in judged if one is not None)


def _judge(total: Op, product: Op, weight: Value, term: Value, meanings: Meanings) -> Obligation | None:
    logarithm, meaning = _distribution(weight, meanings), meanings.of(weight)
    if logarithm is not None and logarithm.axis == total.argument("axis") and _is_logarithm(term, meanings):
        return _weighted_by_logarithms(product, logarithm)
    if _is_own_softmax(weight, term, meanings) and _is_negated(total, term, meanings):
        return _of_scores(product, term)
    if meaning is not None and meaning.kind is Kind.PROBABILITIES and _is_logarithm(term, meanings):
        return proved(product.span, "log-probabilities are weighted by probabilities")
    return None


def _distribution(value: Value, meanings: Meanings) -> Meaning | None:
    """Return the meaning of the logarithms of a whole distribution; those of single outcomes may weigh anything."""
    found = meanings.of(value)
    return found if found is not None and found.how == "log_softmax" and found.axis is not None else None


def _is_logarithm(value: Value, meanings: Meanings) -> bool:
    """Whether a value is logarithms of a distribution, or a difference of two."""
    made = meanings.flow.maker(value)
    sides = made.operands if made is not None and made.function == "subtract" and len(made.operands) == 2 else (value,)
    return _distribution(value, meanings) is not None or all(_distribution(one, meanings) for one in sides)


def _is_own_softmax(weight: Value, term: Value, meanings: Meanings) -> bool:
    """Whether a weight is the softmax of the very scores that it weighs."""
    made, source = meanings.flow.maker(weight), meanings.flow.maker(term)
    if meanings.of(term) is not None or (source is not None and source.name in ELEMENTWISE):
        # Something was done to the scores: they may well be normalised.
        return False
    if made is not None and made.function == "exp" and made.operands:
        made = meanings.flow.maker(made.operands[0])
    return made is not None and made.function in NORMALISED_EXPONENTIALS and made.operands[:1] == (term,)


def _is_negated(total: Op, term: Value, meanings: Meanings) -> bool:
    """Whether it is `-sum(p * x)` or `-mean(sum(p * x))`, and nothing else of `x` is added to make it an entropy."""
    readers = _readers(total, meanings)
    means = [op for one in readers if one.name == "array.reduce" for op in _readers(one, meanings)]
    negated = [op for op in (*readers, *means) if op.function == "negative"]
    return bool(negated) and not any(_is_corrected(op, term, meanings) for op in negated)


def _is_corrected(negated: Op, term: Value, meanings: Meanings) -> bool:
    """Whether the logarithm of the sum, or whatever else comes of the scores, is added: `-sum(p * x) + lse(x)`."""
    of_scores = reached(meanings.flow, (term,)) - reached(meanings.flow, negated.results)
    sums = [op for op in _readers(negated, meanings) if op.function in SUMS_OF_TWO]
    return any(one in of_scores for op in sums for one in op.operands)


def _readers(op: Op, meanings: Meanings) -> list[Op]:
    return [reader for value in op.results for reader in meanings.flow.readers.get(value, ())]


def _weighted_by_logarithms(product: Op, found: Meaning) -> Obligation:
    return Obligation(
        product.span,
        message="log-probabilities are weighted by log-probabilities, where probabilities are meant",
        current="the sum over all outcomes has logarithms for weights: it is no entropy and no divergence",
        expected="each term is weighted by its probability",
        steps=(Step(found.made.span, "these are logarithms of probabilities"),),
        suggestion="weigh with `jnp.exp(...)` of the log-probabilities",
    )


def _of_scores(product: Op, term: Value) -> Obligation:
    name = named(term, "the scores")
    return Obligation(
        product.span,
        message=f"{name} are weighted by their own probabilities, where log-probabilities are meant",
        current=f"{name} are not normalised, so the sum is no entropy: a constant added to them changes it",
        expected="each log-probability is weighted by its probability",
        suggestion=f"weigh `jax.nn.log_softmax(...)` of {name}",
    )
