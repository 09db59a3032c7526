"""Sums of log-probabilities that are weighted by log-probabilities: an entropy or divergence without its `exp`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.meaning import Kind, Meaning, Meanings
from jaxaudit.analyses.meaning.kinds import tail
from jaxaudit.analyses.queries import reached
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, Step, Verdict

RULE = "meaning-mismatch"


def weighted_logs(program: Program, meanings: Meanings) -> Iterator[Obligation]:
    """Return every sum over classes of a product in which both factors are logarithms."""
    for total in program.named("array.reduce"):
        product = meanings.flow.maker(total.operands[0]) if total.operands and tail(total) == "sum" else None
        if product is None or tail(product) != "multiply" or len(product.operands) != 2:
            continue
        for weight, term in (product.operands, product.operands[::-1]):
            found = _distribution(weight, meanings)
            if found is not None and found.axis == total.argument("axis") and _is_log(term, meanings):
                yield _clash(product, found)
                break
            if _is_own_softmax(weight, term, meanings) and _is_negated(total, term, meanings):
                yield _raw(product, term)
                break


def _is_own_softmax(weight: Value, term: Value, meanings: Meanings) -> bool:
    """Whether a weight is the softmax of the very scores that it weighs."""
    made, source = meanings.flow.maker(weight), meanings.flow.maker(term)
    if meanings.of(term) is not None or (source is not None and source.name in ("array.map", "array.select")):
        # Something was done to the scores: they may well be normalised.
        return False
    if made is not None and tail(made) == "exp" and made.operands:
        made = meanings.flow.maker(made.operands[0])
    return made is not None and tail(made) in ("softmax", "log_softmax") and made.operands[:1] == (term,)


def _is_negated(total: Op, term: Value, meanings: Meanings) -> bool:
    """Tell `-sum(p * x)` and `-mean(sum(p * x))`: an entropy, unless something else of `x` is added to make it one."""
    readers = _readers(total, meanings)
    inner = [op for one in readers if one.name == "array.reduce" for op in _readers(one, meanings)]
    negated = [op for op in (*readers, *inner) if tail(op) == "negative"]
    return bool(negated) and not any(_is_corrected(op, term, meanings) for op in negated)


def _is_corrected(negated: Op, term: Value, meanings: Meanings) -> bool:
    """Whether the logarithm of the sum, or whatever else comes of the scores, is added: `-sum(p * x) + lse(x)`."""
    of_scores = reached(meanings.flow, (term,)) - reached(meanings.flow, negated.results) - set(negated.results)
    sums = [op for op in _readers(negated, meanings) if tail(op) in ("add", "subtract")]
    return any(one in of_scores for op in sums for one in op.operands)


def _readers(op: Op, meanings: Meanings) -> list[Op]:
    return [reader for value in op.results for reader in meanings.flow.readers.get(value, ())]


def _raw(product: Op, term: Value) -> Obligation:
    name = f"`{term.name}`" if term.name else "the scores"
    return Obligation(
        RULE,
        product.span,
        Verdict.VIOLATED,
        message=f"{name} are weighted by their own probabilities, where log-probabilities are meant",
        current=f"{name} are not normalised, so the sum is no entropy: a constant added to them changes it",
        expected="each log-probability is weighted by its probability",
        suggestion=f"weigh `jax.nn.log_softmax(...)` of {name}",
    )


def _distribution(value: Value, meanings: Meanings) -> Meaning | None:
    """Return the meaning of the logarithms of a whole distribution; those of single outcomes may weigh anything."""
    found = meanings.of(value)
    whole = found is not None and found.kind is Kind.LOG_PROBABILITIES and found.how == "log_softmax"
    return found if whole and found is not None and found.axis is not None else None


def _is_log(value: Value, meanings: Meanings) -> bool:
    if _distribution(value, meanings) is not None:
        return True
    made = meanings.flow.maker(value)
    if made is None or tail(made) != "subtract" or len(made.operands) != 2:
        return False
    return all(_distribution(one, meanings) is not None for one in made.operands)


def _clash(product: Op, found: Meaning) -> Obligation:
    steps = () if found.made is None else (Step(found.made.span, "these are logarithms of probabilities"),)
    return Obligation(
        RULE,
        product.span,
        Verdict.VIOLATED,
        message="log-probabilities are weighted by log-probabilities, where probabilities are meant",
        current="the sum over all outcomes has logarithms for weights: it is no entropy and no divergence",
        expected="each term is weighted by its probability",
        steps=steps,
        suggestion="weigh with `jnp.exp(...)` of the log-probabilities",
    )
