"""Next values: in a sum over the steps to come, a value is taken away, and a later one of the same series is added."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.moments import Moment
from jaxaudit.analyses.lineage.products import Product
from jaxaudit.analyses.lineage.returns import Return
from jaxaudit.ir import Op, Value
from jaxaudit.ir.record import record


@record
class Pair:
    """A value that is taken away, and the one that is discounted and added."""

    sum: Return
    value: Value
    at: Moment
    later: Value
    next: Moment
    part: Product


def pairs(one: Return) -> Iterator[Pair]:
    """Return every value that a step takes away, with each later one that it adds."""
    taken = [part for part in one.added if part.coefficient == -1.0 and len(part.factors) == 1 and not part.masks]
    for value in (part.factors[0] for part in taken) if one.rewards else ():
        at = one.moment(value)
        for part in one.added:
            for later in part.factors if part.coefficient > 0 else ():
                found = one.moment(later)
                if found.series == at.series and found.counted == at.counted:
                    yield Pair(one, value, at, later, found, part)


def written(pair: Pair, flow: Flow) -> Op:
    """Return where the value is taken away from the discounted one, in the loop or before it."""
    for value in (pair.value, pair.at.value):
        for op in flow.readers.get(value, ()):
            if op.function == "subtract" and value is op.arguments.get("y"):
                return op
    seen = pair.sum.sums.flow.readers
    cut = (made for op in seen.get(pair.at.value, ()) for made in op.results)
    found = (
        op
        for value in cut
        for op in seen.get(value, ())
        if op.function == "subtract" and op.arguments.get("y") is value
    )
    return next(found, pair.sum.update)
