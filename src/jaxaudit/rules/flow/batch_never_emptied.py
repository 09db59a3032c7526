"""The rule `batch-never-emptied`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Obligation, Rule, Severity, proved, unknown


class BatchNeverEmptied(Rule):
    """A loop fills a list, gives it away when it is full, and goes on filling the same list.

    ## What it does
    Looks at lists that the turns of a loop append to, and that are yielded once their length reaches a limit. The loop
    has to start a new one afterwards.

    ## Why is this bad?
    With `len(batch) == size` only the first batch ever comes out; with `>=` one comes out in every turn, larger each
    time. Whoever keeps a batch sees it grow.

    ## Example
        for item in items:
            batch.append(item)
            if len(batch) == size:
                yield batch

    ## Use instead
        for item in items:
            batch.append(item)
            if len(batch) == size:
                yield batch
                batch = []

    ## When it cannot tell
    A list that is handed to another function counts as emptied: that one may do it.
    """

    summary = "A list is filled and given away when it is full, and never emptied."
    valid = """
    ## a new one each time
    def batches(items, size):
        batch = []
        for item in items:
            batch.append(item)
            if len(batch) == size:
                yield batch
                batch = []

    ## cleared
    def batches(items, size):
        batch = []
        for item in items:
            batch.append(item)
            if len(batch) >= size:
                yield jnp.stack(batch)
                batch.clear()
    """
    invalid = """
    ## only the first comes out
    def batches(items, size):
        batch = []
        for item in items:
            batch.append(item)
            if len(batch) == size:
                yield batch  #!

    ## larger in every turn: a warning
    def batches(items, size):
        batch = []
        for item in items:
            batch.append(item)
            if len(batch) >= size:
                yield batch  #?
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every list that turns fill and that is given away when it is long enough."""
        yield from (_judge(op) for op in program.named("py.turn") if op.kind == "batch")


def _judge(op: Op) -> Obligation:
    if not op.problem:
        return proved(op.span, f"`{op.label}` is emptied or bound again in the loop")
    if op.problem == "handed":
        return unknown(op.span, f"whether what `{op.label}` is handed to empties it is not known")
    once = op.problem == "once"
    return Obligation(
        op.span,
        severity=Severity.ERROR if once else Severity.WARNING,
        message=f"`{op.label}` is given away and never emptied"
        + (", so its length is right only once" if once else ", so it grows from turn to turn"),
        current="the loop goes on to append to the very list that it gave away",
        expected="each batch starts empty",
        suggestion=f"bind `{op.label} = []` after it is given away",
    )
