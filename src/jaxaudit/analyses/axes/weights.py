"""Weights: arrays that add up to one along an axis, and the axes they are then summed over.

A weighted sum is one where the weights are multiplied with values and the product is summed. The weights add up to one
along the axis they are normalised over, so it is this axis that the sum has to run over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.axes.normalised import Normalised, Share, all_normalised, shares
from jaxaudit.analyses.axes.roots import roots
from jaxaudit.analyses.axes.slots import Origins, Slot, onward, origins, placed, rank_in
from jaxaudit.analyses.dims import ONE
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, depends, nothing, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.uses import EFFECTS, Use, Uses
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import AVERAGES, GROWING_ALONG, LINEAR
from jaxaudit.ir.interfaces import Mapped, moved
from jaxaudit.ir.ops import ELEMENTWISE, KEEPING, PASSED_ON
from jaxaudit.ir.record import record


@record
class WeightedSum:
    """Weights as they are summed over: which axis adds up to one, and what the sum does with it."""

    made: Normalised
    total: Op
    role: str
    """`summed`: the sum runs over it; `aligned`: both operands have it and it stays; `own`: only the weights do.

    `beside`: of logarithms, it stays, and the sum runs over an axis that only the values have.
    """
    weights: Slot
    """The axis that adds up to one, of the weights as they are there."""
    summed: int
    """The axis of them that is summed over."""
    values: Value
    """What they are the weights of."""
    free: bool
    """Whether the values have an axis of their own."""


def weighted_sums(facts: Facts, one: Normalised) -> Iterator[WeightedSum]:
    """Return the sums that the result of a normalisation is the weights of."""
    for share in shares(facts, one):
        for op in facts.flow.readers.get(share.slot.value, ()):
            yield from _sums(facts, op, share, one)


def _sums(facts: Facts, op: Op, share: Share, one: Normalised) -> Iterator[WeightedSum]:
    values = [value for value in op.operands if value is not share.slot.value]
    # Logarithms are added where what they are of is multiplied.
    times, summing = ("add", "logsumexp") if share.log else ("multiply", "sum")
    is_product = op.name == "array.map" and op.function == times
    is_sum = op.name == "array.dot" and not share.log
    made = facts.memo(origins, op)[0] if len(values) == 1 and (is_product or is_sum) else None
    if made is None:
        return
    if not is_product:
        yield from _role(facts, made, op, share, one, values[0])
        return
    for total in facts.flow.readers.get(op.result, ()):
        left = facts.memo(origins, total)[0] if total.name == "array.reduce" and total.function == summing else None
        if left is not None:
            kept = {slot.place for axis in left for slot in axis}
            rest = tuple(axis for at, axis in enumerate(made) if at in kept)
            yield from _role(facts, rest, total, share, one, values[0])


def _role(facts: Facts, kept: Origins, op: Op, share: Share, one: Normalised, values: Value) -> Iterator[WeightedSum]:
    """Say what a sum does with the axis that adds up to one, from the axes that it keeps."""
    shapes, reader = facts.get(Shapes), op if op.name == "array.dot" else None
    weights = share.slot if reader is None else placed(reader, share.slot, shapes)
    rank = shapes.of(weights.value).rank if reader is None else rank_in(reader, weights.value, shapes)
    if rank is None or (weights.place is not None and weights.place < 0):
        return
    mine = {slot.place for axis in kept for slot in axis if slot.value is weights.value}
    ones = {at for at, dim in enumerate(shapes.of(weights.value).dims or ()) if dim == ONE}
    gone = [place for place in range(rank) if place not in mine | ones]
    free = any(axis and all(slot.value is not weights.value for slot in axis) for axis in kept)
    if weights.place in gone:
        yield WeightedSum(one, op, "summed", weights, weights.place or 0, values, free)
    elif gone:
        beside = any(weights in axis and any(slot.value is values for slot in axis) for axis in kept)
        aligned = beside or (weights.place is None and _is_mapped_too(facts, op, values))
        yield WeightedSum(one, op, "aligned" if aligned else "own", weights, gone[0], values, free)
    elif share.log and not _is_summed_later(facts, op, kept, weights):
        yield WeightedSum(one, op, "beside", weights, weights.place or 0, values, free)


def _is_summed_later(facts: Facts, total: Op, kept: Origins, weights: Slot) -> bool:
    """Whether the axis that adds up to one is summed over behind another sum, of whose order nothing depends."""
    places = [at for at, axis in enumerate(kept) if weights in axis]
    ways = walk([Slot(total.result, at) for at in places], lambda one: (made for _, made in onward(facts, one)))
    for one in ways:
        for op in facts.flow.readers.get(one.value, ()):
            left = facts.memo(origins, op)[0] if op.name == "array.reduce" and op.function not in AVERAGES else None
            if left is not None and not any(one in axis for axis in left):
                return True
    return not places


def _is_mapped_too(facts: Facts, op: Op, values: Value) -> bool:
    """Whether the map that took the axis of the weights takes one of the values as well."""
    around = (holder for _, holder in facts.places.up(facts.places.region_of[op]))
    view = next((view for one in around if one is not None and (view := Mapped.of(one)) is not None), None)
    return view is not None and depends(facts.flow, values, {param for param, _ in view.elements})


def axis_when_made(facts: Facts, one: WeightedSum) -> int:
    """Return the axis that is summed over as it is counted where the weights are made."""
    made, wanted = one.made, Slot(one.weights.value, one.summed)
    for place in range(facts.get(Shapes).of(made.op.result).rank or 0):
        start = Normalised(made.op, Slot(made.op.result, place), made.log)
        if any(share.slot == wanted for share in shares(facts, start)):
            return place
    return one.summed


def is_counted(facts: Facts, one: Normalised) -> bool:
    """Whether the program adds up how much there is along another axis, as who shares something out does."""
    for share in shares(facts, one):
        for op in facts.flow.readers.get(share.slot.value, ()):
            left = facts.memo(origins, op)[0] if op.name == "array.reduce" and op.function == "sum" else None
            shares_out = left is not None and any(share.slot in axis for axis in left)
            if shares_out and not is_looked_at(facts, op.result):
                return True
    return False


def is_looked_at(facts: Facts, value: Value) -> bool:
    """Whether nothing is known to be made of a number that goes beyond showing or checking it."""
    ends = EFFECTS | Use.CARRIED | Use.DROPPED
    return not facts.get(Uses).becomes(value) & ends & ~(Use.SHOWN | Use.TESTED)


def is_grid(one: WeightedSum, flow: Flow) -> bool:
    """Whether what the weights are multiplied with is a row of evenly spaced numbers."""

    def before(value: Value) -> Sequence[Value]:
        op = flow.own_maker(value)
        if op is None:
            given = flow.passed(value)
        elif op.name == "array.map" and len(op.operands) == 1:
            given = op.operands[0]
        else:
            given = op.constant if op.name == "py.global" else moved(op)
        return (given,) if isinstance(given, Value) else ()

    *_, source = walk((one.values,), before)
    maker = flow.maker(source)
    return maker is not None and maker.function in GROWING_ALONG


def information(facts: Facts, one: WeightedSum) -> str:
    """Return what is summed where the values are logarithms of probabilities along the same axis; else nothing.

    An entropy, or a divergence, adds up over the axis of the probabilities: before it is averaged over others
    (`mixed` where that comes first), and not at all where the sum stays as it is (`apart`).
    """

    def before(value: Value) -> Sequence[Value]:
        op = facts.flow.maker(value)
        return op.operands if op is not None and op.name == "array.map" and op.function in LINEAR else ()

    logs = {share.slot for made in all_normalised(facts) for share in shares(facts, made) if share.log}
    summands = [Slot(value, one.weights.place) for value in walk((one.values,), before)]
    if one.total.name != "array.reduce" or logs.isdisjoint(summands):
        return ""
    rest = next((at for at, axis in enumerate(facts.memo(origins, one.total)[0] or ()) if axis), None)
    ways = () if rest is None else walk((Slot(one.total.result, rest),), lambda slot: _kept(facts, slot))
    ends = {op.function for slot in ways for op in facts.flow.readers.get(slot.value, ()) if op.name == "array.reduce"}
    return "" if "sum" in ends else "mixed" if ends & AVERAGES else "apart"


def _kept(facts: Facts, one: Slot) -> Iterator[Slot]:
    return (made for op, made in onward(facts, one) if op is None or op.name in KEEPING or op.function in LINEAR)


def is_self_attention(facts: Facts, one: WeightedSum) -> bool:
    """Whether the scores compare the parts of one thing with each other, and the weights mix parts of it.

    Then each part has to get shares of all others. Tokens that are shared out among experts, or points among
    clusters, are compared with something else; what is shared out so is mostly divided by what each one got.
    """
    return _has_one_axis_twice(facts, one) or _is_compared_with_itself(one, facts.flow)


def _has_one_axis_twice(facts: Facts, one: WeightedSum) -> bool:
    """Whether both axes of the scores of a `softmax` are one axis of the values: `f(x)[:, None] + g(x)[None, :]`."""
    if one.made.op.name != "array.normalise" or one.made.slot.place is None:
        return False
    ask, scores = roots(facts), one.made.op.operands[0]
    values = (ask(Slot(one.values, at)) for at in range(facts.get(Shapes).of(one.values).rank or 0))
    both = ask(Slot(scores, one.made.slot.place)) & ask(Slot(scores, axis_when_made(facts, one)))
    return not both.isdisjoint(frozenset().union(*values))


def _is_compared_with_itself(one: WeightedSum, flow: Flow) -> bool:
    compared = next((op for op in _compared(one.made.op, flow)), None)
    if compared is None or len(compared.operands) != 2:
        return False
    origins = [_origins(value, flow) for value in (*compared.operands, one.values)]
    return bool(set.intersection(*origins))


def _compared(normalise: Op, flow: Flow) -> Iterator[Op]:
    """Return the products that scores come from, through scales, biases and masks."""

    def before(value: Value) -> Sequence[Value]:
        op = flow.maker(value)
        changes = op is not None and (op.name in PASSED_ON or op.name in ELEMENTWISE)
        return op.operands if op is not None and changes else behind(flow, value, nothing)

    made = (flow.maker(value) for value in walk(normalise.operands[:1], before))
    return (op for op in made if op is not None and op.name == "array.dot")


def _origins(value: Value, flow: Flow) -> set[Value]:
    """Return what queries, keys or values are, or are projected from."""

    def before(one: Value) -> Sequence[Value]:
        given = moved(flow.maker(one))
        return (given,) if given is not None else behind(flow, one, nothing)

    found = set(walk((value,), before))
    projections = (flow.maker(one) for one in found)
    layers = [op for op in projections if op is not None and _projects(op)]
    return found.union(*(set(walk(op.operands, before)) for op in layers))


def _projects(op: Op) -> bool:
    return op.name == "array.dot" or op.qualified.endswith(".__call__")
