"""The rule `element-lost`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Obligation, Rule, Severity, proved, unknown


class ElementLost(Rule):
    """A loop runs over an iterator, never reads what it gets, and takes its data from the same iterator.

    ## What it does
    Looks at loops whose body takes elements from what they run over, by `next` or `itertools.islice`. The element that
    each turn begins with has to be read, too.

    ## Why is this bad?
    Every turn takes one element and throws it away: of batches of eight, every ninth example is never seen.

    ## Example
        for _ in stream:
            batch = list(itertools.islice(stream, size))

    ## Use instead
        while batch := list(itertools.islice(stream, size)):
            ...

    ## When it cannot tell
    Where only `islice` takes elements it is a warning: of a list it would start anew in each turn.
    """

    summary = "Each turn of a loop takes an element that nobody reads from the iterator that its body reads."
    valid = """
    ## pairs
    def pairs(stream):
        for first in stream:
            yield first, next(stream)
    """
    invalid = """
    ## each first one is lost
    def pairs(stream):
        for _ in stream:  #!
            yield next(stream), next(stream)

    ## before each batch: a warning
    import itertools

    def batches(stream, size):
        for at, item in enumerate(stream):  #?
            yield at, list(itertools.islice(stream, size))
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loop whose body takes elements from what it runs over."""
        yield from (_judge(op) for op in program.named("py.turn") if op.kind == "iterator")


def _judge(op: Op) -> Obligation:
    if not op.problem:
        return proved(op.span, f"what the loop takes from `{op.label}` is read as well")
    if op.problem == "open":
        return unknown(op.span, f"whether anything reads what the loop takes from `{op.label}` is open")
    return Obligation(
        op.span,
        severity=Severity.ERROR if op.problem == "lost" else Severity.WARNING,
        message=f"each turn takes an element of `{op.label}` that nobody reads, and the body takes others",
        current=f"the loop advances `{op.label}` by one before the body reads on from it",
        expected="every element is read",
        suggestion="loop with `while True`, or use the element that the loop gives",
    )
