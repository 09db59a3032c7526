"""Reductions over all there is, in functions that are called for one example and for many.

`q - q.mean()` is right for the actions of one state. Called with a batch of states the same line takes the mean over
the batch as well, and every example depends on all others; under `vmap` it would not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jaxaudit.analyses.axes.directions import sources
from jaxaudit.analyses.axes.slots import Slot
from jaxaudit.analyses.dims import ONE, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import Dims
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import ADDITIONS, AVERAGES, EXTREMES, ROOTS, SPREADS
from jaxaudit.ir.ops import PASSED_ON, REDUCING
from jaxaudit.ir.record import record
from jaxaudit.spans import Span

_REDUCTIONS = ADDITIONS | AVERAGES | SPREADS | EXTREMES | ROOTS | {"logsumexp"}


@record
class TwoRanks:
    """A reduction over all axes that is reached with one example, and with many."""

    op: Op
    """As it is reached with many."""
    one: Span
    """Where its function is called for one example."""
    many: Span
    """Where it is called for many."""
    is_batch: bool
    """Whether the further axis is one that a product with shared weights passes on, example by example."""


def two_ranks(facts: Facts) -> Iterator[TwoRanks]:
    """Return the reductions over all axes whose result meets what was reduced, and that are reached with two ranks."""
    shapes = facts.get(Shapes)
    if shapes.look is not None:
        return
    groups: defaultdict[tuple[Span, str], list[Op]] = defaultdict(list)
    for op in facts.program.named(*REDUCING):
        bare = op.argument("axis", "axes") is None and op.argument("ord") is None
        if bare and op.function in _REDUCTIONS and op.operands and not op.argument("keepdims"):
            groups[op.span, op.function].append(op)
    for ops in groups.values():
        known = [(op, shapes.of(op.operands[0]).dims) for op in ops]
        ranked = [(op, dims) for op, dims in known if dims and all(dim != ONE for dim in dims)]
        found = next((pair for pair in _pairs(ranked) if _meets_itself(facts, pair[1])), None)
        if found is not None:
            first, second = found
            extra = Slot(second.operands[0], 0)
            yield TwoRanks(second, _call(facts, first), _call(facts, second), _is_passed_on(facts, extra))


def _pairs(ranked: Sequence[tuple[Op, Dims]]) -> Iterator[tuple[Op, Op]]:
    """Return pairs of which the second one reduces an axis more than the first, before the same axes."""
    for first, few in ranked:
        for second, many in ranked:
            if len(many) == len(few) + 1 and all(map(same, many[1:], few)):
                yield first, second


def _call(facts: Facts, op: Op) -> Span:
    """Return where the function is called in which an op stands."""
    around = (holder for _, holder in facts.places.up(facts.places.region_of[op]) if holder is not None)
    return next((holder.span for holder in around if holder.name == "py.call"), op.span)


def _meets_itself(facts: Facts, op: Op) -> bool:
    """Whether the result meets the array that was reduced, element by element."""
    flow, whole = facts.flow, op.operands[0]

    def onward(value: Value) -> Iterator[Value]:
        for reader in flow.readers.get(value, ()):
            if reader.name in PASSED_ON or (reader.name == "array.map" and len(reader.operands) == 1):
                yield from reader.results

    def before(value: Value) -> Sequence[Value]:
        maker = flow.maker(value)
        return maker.operands if maker is not None and (maker.name == "array.map" or maker.name in PASSED_ON) else ()

    own = set(walk((whole,), before))
    for value in walk(op.results, onward):
        for reader in flow.readers.get(value, ()):
            others = [one for one in reader.operands if one is not value] if reader.name == "array.map" else []
            if op.function in EXTREMES and reader.function == "subtract":
                # What only keeps exponentials small may be any number.
                continue
            if any(not own.isdisjoint({*walk((one,), before)}) for one in others if facts.get(Shapes).of(one).rank):
                return True
    return False


def _is_passed_on(facts: Facts, extra: Slot) -> bool:
    """Whether an axis comes through a product in which only one operand has it."""
    for one in sources(facts, extra):
        maker = facts.flow.maker(one.value)
        if maker is not None and maker.name == "array.dot":
            return True
    return False
