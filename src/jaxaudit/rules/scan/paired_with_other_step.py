"""The rule `paired-with-other-step`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.courses import Course, course
from jaxaudit.analyses.lineage.moments import Moment, moment, same_step
from jaxaudit.analyses.lineage.origins import contexts
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.queries import made_of, through_ops
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import COMPARING
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import MOVING
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown

_SMOOTHED = """
def smoothed(model, prior, observed):
    def forwards(before, seen):
        predicted = model @ before
        filtered = predicted + 0.5 * (seen - predicted)
        return filtered, (filtered, predicted)

    _, (filtered, predicted) = jax.lax.scan(forwards, prior, observed)

    def backwards(later, step):
        filtered, predicted = step
        out = filtered + 0.3 * (later - predicted)
        return out, out

    steps = (filtered[:-1], predicted[{cut}]){mark}
    return jax.lax.scan(backwards, filtered[-1], steps, reverse=True)[1]
"""

_MESSAGES = """
def smoothed(moves, prior, likely):
    def forwards(prior, likely):
        weights = prior * likely
        weights = weights / weights.sum()
        return weights @ moves, (weights, weights @ moves)

    _, (weights, ahead) = jax.lax.scan(forwards, prior, likely)

    def backwards(later, step):
        weights, ahead = step
        out = weights * (moves @ (later / ahead))
        return out, out

    return jax.lax.scan(backwards, weights[-1], (weights[:-1], ahead[{cut}]), reverse=True)[1]{mark}
"""


class PairedWithOtherStep(Rule):
    """A backward pass compares what it carries with a value that does not lie between the two steps that it joins.

    ## What it does
    Looks at scans from the last step to the first that start from the last entry of what a forward scan recorded, and
    in each turn compare what they carry, which belongs to the next step, with another record of the same scan: a
    prediction. It must be the one that the forward scan made on the way from this step to the next.

    ## Why is this bad?
    A smoother corrects a step by how far the next one came out from what was predicted for it. Compared with the
    prediction of another step, it corrects by a difference that has nothing to do with it. Shapes are the same.

    ## Example
        jax.lax.scan(backwards, filtered[-1], (filtered[:-1], predicted[:-1]), reverse=True)

    ## Use instead
        jax.lax.scan(backwards, filtered[-1], (filtered[:-1], predicted[1:]), reverse=True)

    ## When it cannot tell
    Where the forward scan does not show which of the two records is made of the other, there is nothing to judge.
    """

    summary = "A backward pass pairs a step with a record of the forward pass that belongs to another step."

    valid = (
        Example(_SMOOTHED.format(cut="1:", mark=""), "the prediction for the next step"),
        Example(_MESSAGES.format(cut=":-1", mark=""), "recorded with the step that it is made of"),
        Example(
            _SMOOTHED.format(cut=":-1", mark="").replace("0.3 * (later - predicted)", "0.3 * later + 0.1 * predicted"),
            "added, not compared",
        ),
        Example(
            _SMOOTHED.format(cut=":-1", mark="").replace("filtered[-1], steps", "0.0 * prior, steps"),
            "it starts from something else",
        ),
        Example(
            _SMOOTHED.format(cut=":-1", mark="").replace("(filtered, predicted)\n\n    _", "(filtered, seen)\n\n    _"),
            "a record of what came in",
        ),
    )
    invalid = (
        Example(_SMOOTHED.format(cut=":-1", mark="  #!"), "the prediction for the step itself"),
        Example(_MESSAGES.format(cut="1:", mark="  #!"), "the one after the next"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every comparison of what a backward scan carries with a record of a forward scan."""
        flow = facts.flow
        for op in program.named("scan"):
            for context in contexts(flow, op):
                found = course(op, Sums.of(flow, context))
                if found is not None and found.backwards:
                    yield from (_judged(one, flow) for one in _meetings(found, Sums.of(flow, context)))


@record
class _Meeting:
    """What is carried from the next step meets a record of a forward scan."""

    op: Op
    own: Moment
    """The record that the backward pass starts from, as a turn sees it."""
    other: Moment
    """The record that is compared."""
    place: Op


def _meetings(found: Course, sums: Sums) -> Iterator[_Meeting]:
    flow = sums.flow
    elements = {param: moment(flow, param, sums.context) for param in found.elements}
    starts = {one.param: last for one in found.carried if (last := _last_of(one.start, sums)) is not None}
    for op in Loop(found.op).body.walk() if starts else ():
        if op.name != "array.map" or op.function not in COMPARING:
            continue
        sides = [made_of(flow, one, through_ops(*MOVING)) for one in op.operands]
        carried = [one for one in sides if one in starts]
        other = [elements[one] for one in sides if one in elements]
        own = [one for one in elements.values() if carried and one.series == starts[carried[0]].series]
        if len(carried) == len(other) == len(own) == 1 and own[0].is_beside(other[0]):
            param = next(one for one in sides if one in elements)
            yield _Meeting(op, own[0], other[0], _cut(found, param, sums))


def _last_of(value: Value, sums: Sums) -> Moment | None:
    """Return the records whose last entry a value is."""
    made, whole = sums.maker(value), None
    if made is not None and made.name == "tree.map" and len(made.operands) == 1:
        # The last entry of every leaf.
        tree = sums.flow.maker(made.operands[0])
        leaves = () if tree is None or tree.name != "py.container" else tree.operands
        at = sums.flow.position(made.results, sums.source(value)) - 1
        whole = leaves[at] if 0 <= at < len(leaves) else None
        made = sums.flow.maker(made.regions[0].results[0])
    elif made is not None and made.operands:
        whole = made.operands[0]
    last = made is not None and made.name == "py.item" and index_parts(made.arguments.get("index"))[:1] == (-1,)
    found = moment(sums.flow, whole, sums.context) if whole is not None and last else None
    return found if found is not None and found.loop is not None else None


def _cut(found: Course, param: Value, sums: Sums) -> Op:
    made = sums.maker(found.elements[param].array)
    window = index_parts(made.arguments.get("index"))[:1] if made is not None and made.name == "py.item" else ()
    return made if made is not None and window and isinstance(window[0], Mapping) else found.op


def _judged(one: _Meeting, flow: Flow) -> Obligation:
    assert one.own.loop is not None
    loop = Loop(one.own.loop)
    before = one.other.value in set(same_step(flow, (one.own.value,)))
    after = one.own.value in set(same_step(flow, (one.other.value,)))
    apart, span = one.other.shift - one.own.shift, one.place.span
    if before == after or one.own.value is one.other.value or not _is_on_the_way(one, loop, flow):
        return unknown(span, "which of the two records is made of the other is not known")
    if apart == (1 if before else 0):
        return proved(span, "it is compared with what the forward scan made on the way to the next step")
    return _finding(one, loop, before=before)


def _is_on_the_way(one: _Meeting, loop: Loop, flow: Flow) -> bool:
    """Whether both records lie on the way from what a turn is given to what it hands on."""
    given = {param for param, after in loop.successors if param is not after}
    made = set(same_step(flow, [after for param, after in loop.successors if param in given]))
    sources = (set(same_step(flow, (record.value,))) for record in (one.own, one.other))
    passed = all(not given.isdisjoint(met) for met in sources)
    return passed and one.own.value in made


def _finding(one: _Meeting, loop: Loop, *, before: bool) -> Obligation:
    other, own = named(one.other.value, "the other record"), named(one.own.value, "this one")
    which = "this step" if before else "the next step"
    return Obligation(
        one.place.span,
        message=f"{other} that is compared here does not lie between {own} of this step and of the next one",
        current=f"what is carried from the next step is compared with {other} made on the way from {which}"
        if not before
        else f"what is carried from the next step is compared with {other} made on the way to {which}",
        expected=f"it is compared with {other} that was made on the way from this step to the next",
        steps=(
            Step(loop.op.span, f"{other} and {own} are recorded here, by a scan from the first step to the last"),
            Step(one.op.span, "what is carried from the next step is compared here"),
        ),
        suggestion=f"shift {other} by one step against {own}: `[1:]` for `[:-1]`, or the other way round",
    )
