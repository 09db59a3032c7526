"""Ratios of probabilities as exponentials of a difference, where one side of the difference is no logarithm."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.meaning import Kind, Meaning, Meanings
from jaxaudit.analyses.meaning.kinds import tail
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Obligation, Step, Verdict

RULE = "meaning-mismatch"
_KINDS = {Kind.PROBABILITIES, Kind.LOG_PROBABILITIES}


def mixed_ratios(program: Program, meanings: Meanings) -> Iterator[Obligation]:
    """Return every `exp(a - b)` of which one side is a logarithm of probabilities and the other the probabilities."""
    for ratio in program.mapping("exp"):
        difference = meanings.flow.maker(ratio.operands[0]) if ratio.operands else None
        if difference is None or tail(difference) != "subtract" or len(difference.operands) != 2:
            continue
        found = [meaning for one in difference.operands if (meaning := meanings.of(one)) is not None]
        if {one.kind for one in found} == _KINDS:
            yield _mixed(difference, next(one for one in found if one.kind is Kind.PROBABILITIES))


def _mixed(difference: Op, plain: Meaning) -> Obligation:
    steps = () if plain.made is None else (Step(plain.made.span, "these are probabilities"),)
    return Obligation(
        RULE,
        difference.span,
        Verdict.VIOLATED,
        message="probabilities are subtracted from log-probabilities, or the other way round, in a ratio",
        current="the exponential of this difference is no ratio of probabilities",
        expected="both sides are log-probabilities",
        steps=steps,
        suggestion="take the logarithm of the probabilities, or store the log-probabilities",
    )
