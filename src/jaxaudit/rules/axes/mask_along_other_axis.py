"""The rule `mask-along-other-axis`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from jaxaudit.analyses.axes.normalised import Normalised, all_normalised, shares
from jaxaudit.analyses.axes.roots import before, roots
from jaxaudit.analyses.axes.slots import Slot
from jaxaudit.analyses.dims import ONE, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import last, walk
from jaxaudit.analyses.ranges import DEEP, Range, Ranges
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import NORMALISED_EXPONENTIALS
from jaxaudit.ir.interfaces import moved
from jaxaudit.ir.ops import ELEMENTWISE, KEEPING
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown

_ATTENTION = """
def attend(q, k, v, lengths):
    scores = jnp.einsum("btd,bsd->bts", q, k)
    valid = jnp.arange(q.shape[1]) < lengths[:, None]
    scores = jnp.where(valid[{index}], scores, -jnp.inf){mark}
    return jnp.einsum("bts,bsd->btd", jax.nn.softmax(scores), v)


x = jnp.ones((4, 9, 5))
attend(x, x, x, jnp.array([3, 9, 5, 7]))
"""


class MaskAlongOtherAxis(Rule):
    """A mask in front of a softmax is the same all along the axis that the softmax runs over.

    ## What it does
    Looks at what keeps entries out of a `softmax` or `log_softmax`: a choice of a number so far below zero that its
    exponential is zero, a sum with such numbers, and the argument `where`. The mask has to tell apart the entries that
    are weighed against each other, so it has to have the axis that the softmax runs over.

    ## Why is this bad?
    Where all entries of a row are masked together, all have equal weights (or are NaN), and in the other rows none is
    kept out: padding gets its share. As there are as many queries as keys, shapes fit, and nothing is raised.

    ## Example
        scores = jnp.where(valid[:, :, None], scores, -1e9)  # (batch, queries, keys)
        jax.nn.softmax(scores, axis=-1)

    ## Use instead
        scores = jnp.where(valid[:, None, :], scores, -1e9)  # (batch, queries, keys)
        jax.nn.softmax(scores, axis=-1)

    ## When it cannot tell
    When shapes are not known, another mask has the axis, or the same mask is applied to the weights once more.
    """

    summary = "A mask is the same all along the axis of the softmax that it is for."
    needs = (Shapes, Ranges)
    valid = (
        Example(_ATTENTION.format(index=":, None, :", mark=""), "keys are masked"),
        Example(
            "def attend(scores, values, valid):\n"
            "    weights = jax.nn.softmax(jnp.where(valid[:, None], scores, -1e9), axis=-1)\n"
            "    return jnp.where(valid[:, None], weights, 0.0) @ values\n\n"
            "attend(jnp.ones((9, 9)), jnp.ones((9, 5)), jnp.arange(9) < 7)\n",
            "whole rows are masked, and taken out again",
        ),
        Example(
            "def policy(logits, active):\n"
            "    return jax.nn.softmax(jnp.where(active[:, None], logits, 0.0))\n\n"
            "policy(jnp.ones((9, 4)), jnp.arange(9) < 7)\n",
            "all alike where nothing is chosen",
        ),
    )
    invalid = (
        Example(_ATTENTION.format(index=":, :, None", mark="  #!"), "queries are masked"),
        Example(
            "def attend(scores, values, valid):\n"
            "    bias = jnp.where(valid, 0.0, -1e9)[:, None]\n"
            "    return jax.nn.softmax(scores + bias, axis=-1) @ values  #!\n\n"
            "attend(jnp.ones((9, 9)), jnp.ones((9, 5)), jnp.arange(9) < 7)\n",
            "added to the scores",
        ),
        Example(
            "def attend(scores, values, valid):\n"
            "    return jax.nn.softmax(scores, axis=0, where=valid[None, :]).T @ values  #!\n\n"
            "attend(jnp.ones((9, 9)), jnp.ones((9, 5)), jnp.arange(9) < 7)\n",
            "an argument of the softmax",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every mask in front of a softmax."""
        for made in all_normalised(facts):
            if made.op.name == "array.normalise" and made.op.function in NORMALISED_EXPONENTIALS:
                masks = list(_masks(facts, made))
                yield from (_judge(one, masks, made, facts) for one in masks)


@record
class _Mask:
    """What keeps entries out of a softmax."""

    op: Op
    """Where it is applied."""
    value: Value
    has: bool | None
    """Whether it has the axis that the softmax runs over; None where that is not known."""


def _masks(facts: Facts, made: Normalised) -> Iterator[_Mask]:
    """Return every mask in front of a softmax."""
    op, place = made.op, made.slot.place
    given = op.argument("where")
    if isinstance(given, Value) and place is not None:
        yield _Mask(op, given, _has_axis(facts, op.result, given, place))
    for one in walk((Slot(op.operands[0], place),), lambda slot: _in_front(facts, slot)):
        maker = facts.flow.own_maker(one.value)
        if maker is not None and maker.name in ("array.select", "array.map") and one.place is not None:
            masks = _applied(maker, facts.get(Ranges))
            yield from (_Mask(maker, mask, _has_axis(facts, one.value, mask, one.place)) for mask in masks)


def _in_front(facts: Facts, one: Slot) -> Iterable[Slot]:
    """Return the same axis of what an array was computed from element by element."""
    op = facts.flow.own_maker(one.value)
    passes = op is None or op.regions or op.name in ELEMENTWISE | KEEPING
    return before(facts, one) if passes and one.place is not None else ()


def _applied(op: Op, ranges: Ranges) -> list[Value]:
    """Return what keeps entries out of the result of an op."""
    look = ranges.look(op)
    condition = op.argument("condition", "pred")
    if op.name == "array.select":
        arms = (op.argument("x", "on_true"), op.argument("y", "on_false"))
        deep = any(one is not None and look.of(one).high <= DEEP for one in arms)
        return [condition] if isinstance(condition, Value) and deep else []
    return [one for one in op.operands if op.function == "add" and _is_bias(look.of(one))]


def _is_bias(known: Range) -> bool:
    """Whether numbers are so far below zero, or as good as zero, that they choose among what they are added to."""
    return known.high <= 0 and known.low <= DEEP and (known.low > -inf or not known.finite)


def _has_axis(facts: Facts, whole: Value, mask: Value, place: int) -> bool | None:
    """Whether a mask tells apart the entries along an axis of what it is applied to."""
    shapes = facts.get(Shapes)
    dims, own = shapes.of(whole).dims, shapes.of(mask).dims
    if dims is None or not own or place >= len(dims):
        return None
    at = place - len(dims) + len(own)
    if at < 0 or own[at] == ONE:
        return False if any(dim != ONE for dim in own) and dims[place] != ONE else None
    ends = roots(facts)(Slot(mask, at))
    if all(_is_copied(facts, one) for one in ends):
        return False
    known = all((op := facts.flow.own_maker(one.value)) is not None and op.name != "array.expand" for one in ends)
    return True if known and same(own[at], dims[place]) else None


def _is_copied(facts: Facts, one: Slot) -> bool:
    """Whether an array is one and the same all along an axis, which was made by copying it."""
    op, shapes = facts.flow.own_maker(one.value), facts.get(Shapes)
    if op is None or op.name != "array.expand" or one.place is None:
        return False
    dims, given = shapes.of(one.value).dims, shapes.of(op.operands[0]).dims
    at = None if dims is None or given is None else one.place - len(dims) + len(given)
    return at is not None and given is not None and (at < 0 or given[at] == ONE)


def _judge(one: _Mask, masks: Sequence[_Mask], made: Normalised, facts: Facts) -> Obligation:
    if one.has is None:
        return unknown(one.op.span, "whether the mask has the axis that the softmax runs over is not known")
    if one.has:
        return proved(one.op.span, "the mask has the axis that the softmax runs over")
    if any(other.has is not False for other in masks):
        return unknown(one.op.span, "the mask is the same along the axis of the softmax, but another one is not")
    if _is_applied_again(one.value, made, facts):
        return unknown(one.op.span, "whole rows are masked, and the weights are masked once more")
    name, axis = named(one.value, "the mask"), made.slot.place
    return Obligation(
        one.op.span,
        message=f"{name} is the same along axis {axis}, over which `{made.op.function}` runs",
        current="rows that are masked get equal weights, and in the others nothing is masked",
        expected=f"the mask tells apart the entries along axis {axis}",
        steps=(Step(made.op.span, f"the entries along axis {axis} are weighed against each other here"),),
        suggestion=f"put the axis of the mask at {axis}, with `None` where the others stand",
        cause=(one.value,),
    )


def _is_applied_again(mask: Value, made: Normalised, facts: Facts) -> bool:
    """Whether the weights that a softmax gives meet the same mask."""
    flow, weights = facts.flow, [share.slot.value for share in shares(facts, made)]
    readers = (op for value in weights for op in flow.readers.get(value, ()) if op.name in ELEMENTWISE)
    return any(_plain(mask, flow) is _plain(other, flow) for op in readers for other in op.operands)


def _plain(mask: Value, flow: Flow) -> Value:
    """Return a mask before axes were put on it."""
    return last(mask, lambda one: moved(flow.maker(one)))
