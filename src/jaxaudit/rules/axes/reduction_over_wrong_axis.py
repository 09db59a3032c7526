"""The rule `reduction-over-wrong-axis`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes import Axes, Cause, Conflict
from jaxaudit.analyses.axes.conflicts import axes_taken
from jaxaudit.analyses.axes.normalised import Normalised, all_normalised, already, shares
from jaxaudit.analyses.axes.picks import Pick, picks
from jaxaudit.analyses.axes.slots import Slot, slot
from jaxaudit.analyses.axes.two_ranks import TwoRanks, two_ranks
from jaxaudit.analyses.axes.weights import (
    WeightedSum,
    axis_when_made,
    information,
    is_counted,
    is_grid,
    is_looked_at,
    is_self_attention,
    weighted_sums,
)
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, behind, last, nothing, walk
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.literals import axes_in
from jaxaudit.analyses.uses import Uses
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import ADDITIONS, AVERAGES, EQUALITY_CHECKS, SUMS_OF_TWO
from jaxaudit.ir.ops import MOVING
from jaxaudit.ir.record import replace
from jaxaudit.rules.axes._shared.counted_sums import judged_counts
from jaxaudit.rules.axes._shared.distributions_met import judged_entropies
from jaxaudit.rules.axes._shared.one_for_all import one_for_all
from jaxaudit.rules.axes._shared.phrases import axes_facts, axis_of, violated
from jaxaudit.rules.axes._shared.positions import judged_positions
from jaxaudit.rules.axes._shared.samples import samples
from jaxaudit.rules.axes._shared.written_means import judged_means, judged_units
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown

_PROGRAM = """
def pool(scores, values):
    weights = jax.nn.softmax(scores, axis={axis}){mark}
    return jnp.einsum("bt,bth->bh", weights, values)


pool(jnp.ones((6, 9)), jnp.ones((6, 9, 5)))
"""


_MIXTURE = """
def likelihood(logits, means, x):
    parts = -0.5 * (x[:, None] - means) ** 2
    return jax.nn.logsumexp(jax.nn.log_softmax(logits) + parts, axis={axis}).mean(){mark}


likelihood(jnp.ones(6), jnp.ones(6), jnp.ones(6))
"""


_BOUND = """
SAMPLES, BATCH = 5, 64

def weight(key, x):
    return -0.5 * jnp.sum((x - jax.random.normal(key, x.shape)) ** 2, axis=-1)

def bound(key, x):
    logs = jax.vmap(weight, in_axes=(0, None))(jax.random.split(key, SAMPLES), x)
    return jnp.mean(jax.nn.logsumexp(logs, axis={axis}) - jnp.log({size})){mark}


bound(jax.random.key(0), jnp.ones((BATCH, 3)))
"""


class ReductionOverWrongAxis(Rule):
    """Weights are normalised over one axis and summed over another.

    ## What it does
    Follows the result of a `softmax`, or of a division by one's own sum, to the sum it is the weights of (`einsum`,
    `@`, or a product and a `sum`) and compares the axis that adds up to one with the axis that is summed over. It also
    finds reductions that take an axis away which the result then meets, while the other one has a name of its own, and
    statistics that keep an axis which is another one in the array they are used on.
    A weighted mean that is written out, `(w * x).sum(axis=1) / w.sum(axis=1)`, has to sum both over the same axes.
    Mean and spread of one array that are calculated with together have to be over the same axes, and so have a
    `log_softmax` and what picks the entry of each label (`take_along_axis`, an index array, a one-hot mask).
    A sum or mean of what adds up to one, over that very axis, is the same number for every input.
    Probabilities and the log-probabilities that they weight add up to one along the same axis, and vectors that are
    compared one by one are divided each by its own length.
    Positions that `argmin` finds are looked up along the axis that it goes over, and not along one reduced before.
    What a sum is divided by (of a `logsumexp`, whose logarithm is subtracted) is the size of the axes it runs over,
    and not of another one that is averaged over later.

    ## Why is this bad?
    With `softmax` over the batch the weights of one example depend on all others, and those of its time steps add up
    to anything. The shapes are right, training goes on, and the same input gives another output in another batch.

    ## Example
        weights = jax.nn.softmax(scores, axis=0)  # (batch, time)
        jnp.einsum("bt,bth->bh", weights, values)

    ## Use instead
        weights = jax.nn.softmax(scores, axis=1)  # (batch, time)
        jnp.einsum("bt,bth->bh", weights, values)

    ## When it cannot tell
    When shapes are not known, or the weights go elsewhere first. Where only the weights have the normalised axis (soft
    assignment to clusters, slots, experts) the sum may be meant; this is left open, unless it is plain attention of
    something to itself.
    """

    summary = "Weights add up to one over another axis than the one they are summed over."
    needs = (Shapes, Axes, Ranges, Uses)

    valid = (
        Example(_PROGRAM.format(axis=1, mark=""), "over time, as the sum"),
        Example(
            "def means(scores, points):\n    shares = jax.nn.softmax(scores, axis=1)\n"
            '    return jnp.einsum("nk,nd->kd", shares, points)\n\n'
            "means(jnp.ones((9, 4)), jnp.ones((9, 2)))\n",
            "shares of clusters",
        ),
        Example(
            "def overlap(scores, truth):\n    return (jax.nn.softmax(scores, axis=-1) * truth).sum(axis=0)\n\n"
            "overlap(jnp.ones((9, 4)), jnp.ones((9, 4)))\n",
            "a count of each class",
        ),
        Example(
            "def loss(logits, labels):\n    logp = jax.nn.log_softmax(logits)\n"
            "    chosen = jnp.take_along_axis(logp, labels[:, None], axis=-1)\n"
            "    return chosen, (logp * jax.nn.one_hot(labels, 3)).sum(-1), logp[jnp.arange(8), labels]\n",
            "the label of each row",
        ),
        Example(
            "def predict(logits):\n    mean = jax.nn.softmax(logits, axis=-1).mean(axis=0)\n"
            "    assert jnp.allclose(mean.sum(-1), 1.0)\n    return mean / mean.sum(-1, keepdims=True)\n\n"
            "def checked(logits):\n    shares = jax.nn.softmax(logits, axis=-1)\n"
            "    print(jnp.abs(shares.sum(-1) - 1.0).max())\n    return shares / shares.sum(-1, keepdims=True)\n\n"
            "predict(jnp.ones((4, 10))), checked(jnp.ones((4, 10)))\n"
            "print('in all', jnp.round(jax.nn.softmax(jnp.ones((4, 10)), axis=0).sum(axis=0), 3))\n",
            "checked to add up to one, and made to once more",
        ),
        Example(_MIXTURE.format(axis=1, mark=""), "summed over the parts"),
        Example(_BOUND.format(axis=0, size="SAMPLES", mark=""), "as many samples as are averaged"),
        Example(
            "def loss(x, y):\n    b, t = x.shape[0], x.shape[1]\n    error = (x - y) ** 2\n"
            "    rows = error.sum(axis=1)\n    return (rows / b).sum(), (rows / t).mean(), error.sum(axis=0) / b\n\n"
            "loss(jnp.ones((6, 9)), jnp.ones((6, 9)))\n",
            "summed over both, in two steps",
        ),
        Example(
            "def centred(x, name):\n    x = jax.nn.relu(x) if name == 'relu' else jax.nn.softmax(x)\n"
            "    return x - x.mean(axis=-1, keepdims=True)\n",
            "one of several choices",
        ),
        Example(
            "def forward(start, moves, seen):\n    moves = jax.nn.log_softmax(moves, axis=1)\n"
            "    step = lambda a, e: (jax.nn.logsumexp(a[:, None] + moves, axis=0) + e, None)\n"
            "    return jax.lax.scan(step, start, seen)[0]\n\n"
            "forward(jnp.ones(4), jnp.ones((4, 4)), jnp.ones((9, 4)))\n",
            "carried from state to state",
        ),
    )
    invalid = (
        Example(
            "def normalise(x):\n    mean, spread = x.mean(axis=0), x.std(axis=1)  #!\n    return (x - mean) / spread\n",
            "mean and spread of two samples",
        ),
        Example(
            "def advantages(x):\n    return (x - x.mean(axis=1, keepdims=True)) / x.std()  #?\n",
            "a baseline for each row, and one scale for all",
        ),
        Example(
            "def shares(w):\n    return w / w.sum(axis=0, keepdims=True)  #!\n\n"
            "def mean(w, x):\n    return jnp.einsum('fp,fpd->fd', shares(w), x)\n\n"
            "mean(jnp.ones((4, 50)), jnp.ones((4, 50, 2)))\n",
            "divided by one's own sum",
        ),
        Example(
            "BATCH, CLASSES = 10, 10\n\ndef accuracy(logits, labels):\n"
            "    return jnp.mean(jnp.argmax(logits, axis=0) == labels)  #!\n\n"
            "accuracy(jnp.ones((BATCH, CLASSES)), jnp.ones((BATCH,)))\n",
            "the best example of each class",
        ),
        Example(
            "MEMBERS, BATCH = 8, 8\n\ndef bonus(guesses):\n    return guesses.std(axis=0).mean(axis=-1)  #!\n\n"
            "reward = jnp.ones(BATCH) + 0.5 * bonus(jnp.ones((BATCH, MEMBERS, 5)))\n",
            "followed by another reduction",
        ),
        Example(
            """
            import flax.linen as nn
            import optax
            BATCH, TIME = 16, 16

            class Pooled(nn.Module):
                @nn.compact
                def __call__(self, x):
                    return nn.Dense(5)(nn.relu(nn.Dense(8)(x)).mean(axis=0))  #!

            def loss(params, x, y):
                return optax.softmax_cross_entropy_with_integer_labels(Pooled().apply(params, x), y).mean()

            loss({}, jnp.ones((BATCH, TIME, 3)), jnp.zeros(BATCH, int))
            """,
            "pooled over the batch, in a module",
        ),
        Example(
            """
            BATCH, TIME = 16, 16

            def last(w, xs, targets):
                step = lambda h, x: (jnp.tanh(x + h),) * 2
                states = jax.lax.scan(step, jnp.zeros((BATCH, 3)), jnp.swapaxes(xs, 0, 1))[1]
                return (states[:, -1] @ w - targets) ** 2  #!

            last(jnp.ones((3, 5)), jnp.ones((BATCH, TIME, 3)), jnp.zeros((BATCH, 5)))
            """,
            "the last example of every step",
        ),
        Example(
            "POINTS, WIDTH = 8, 8\n\ndef head(h, w):\n    return h.max(axis=1) @ w  #!\n\n"
            "head(jnp.ones((POINTS, WIDTH)), jnp.ones((WIDTH, 3)))\n",
            "the layer behind it was made for what is gone",
        ),
        Example(
            "def loss(logits, labels):\n    logp = jax.nn.log_softmax(logits, axis=0)  #!\n"
            "    return -jnp.take_along_axis(logp, labels[:, None], axis=1).mean()\n\n"
            "def other(logits, labels):\n    rows = jnp.arange(8)\n"
            "    return jax.nn.softmax(logits * jnp.ones((8, 3)), axis=0)[rows, labels]  #!\n",
            "labels along another axis",
        ),
        Example(
            "def attend(w, x):\n    q, k, v = jnp.split(x @ w, 3, axis=-1)\n    s = q @ k.transpose(0, 2, 1) / 4\n"
            "    return jax.nn.softmax(s, axis=1) @ v  #!\n\n"
            "attend(jnp.ones((8, 24)), jnp.ones((5, 9, 8)))\n",
            "over the queries",
        ),
        Example(
            """
            import numpy as np
            PAST, FUTURE = 12, 12

            def windows(series):
                count = len(series) - PAST - FUTURE + 1
                past = np.stack([series[i : i + PAST] for i in range(count)])
                future = np.stack([series[i + PAST : i + PAST + FUTURE] for i in range(count)])
                return past, future

            past, future = windows(np.random.default_rng(0).normal(size=(240, 4)))
            mean = past.mean(axis=(0, 2), keepdims=True)  #!
            x, y = past - mean, future - mean
            """,
            "one mean for each step, where each sensor has its own",
        ),
        Example(_PROGRAM.format(axis=0, mark="  #!"), "over the batch"),
        Example(
            "def predict(logits):\n    return jax.nn.softmax(logits, axis=0).mean(axis=0)  #!\n\n"
            "def mixed(w):\n    shares = jnp.exp(jax.nn.log_softmax(w, axis=-1))  #!\n"
            "    return jnp.log(jnp.sum(shares, axis=-1))\n\n"
            "def main():\n    return predict(jnp.ones((4, 10))), mixed(jnp.ones((4, 10)))\n",
            "the mean of what adds up to one",
        ),
        Example(_MIXTURE.format(axis=0, mark="  #!"), "summed over the points"),
        Example(_BOUND.format(axis=-1, size="SAMPLES", mark="  #!"), "over the batch, by the samples"),
        Example(_BOUND.format(axis=0, size="logs.shape[1]", mark="  #!"), "over the samples, by the batch"),
        Example(
            "def loss(x, y):\n    b = x.shape[0]\n    rows = jnp.sum((x - y) ** 2, axis=1)  #!\n"
            "    return jnp.sqrt(rows / b).mean()\n\nloss(jnp.ones((6, 9)), jnp.ones((6, 9)))\n\n"
            "def shares(x):\n    b = x.shape[0]\n    return x.sum(axis=1) / b  #?\n\nshares(jnp.ones((6, 9)))\n",
            "divided by how many rows there are",
        ),
        Example(_PROGRAM.format(axis=-2, mark="  #!").rpartition("pool(")[0], "of any size"),
        Example(
            "def pool(scores, values):\n    weights = jax.nn.softmax(scores, axis=0)  #!\n"
            "    return (weights[:, :, None] * values).sum(axis=1)\n\n"
            "pool(jnp.ones((6, 9)), jnp.ones((6, 9, 5)))\n",
            "a product and a sum",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every weighted sum."""
        for made in all_normalised(facts):
            yield from _weights(facts, made)
            yield from _totals(facts, made)
            yield from map(_picked, picks(facts, made))
        yield from map(_wrong_axis_left, axes_facts(facts).caused(Cause.REDUCED))
        yield from map(_wrong_axis_kept, axes_facts(facts).caused(Cause.KEPT))
        yield from samples(facts)
        yield from map(_of_two_ranks, two_ranks(facts))
        yield from judged_means(facts)
        yield from judged_counts(facts)
        yield from judged_units(facts)
        yield from judged_entropies(facts)
        yield from one_for_all(facts)
        yield from judged_positions(facts)


def _wrong_axis_left(conflict: Conflict) -> Obligation:
    op, other = conflict.blamed, conflict.meeting.right
    other = conflict.meeting.left if conflict.astray is other else other
    here, wanted = axis_of(conflict.astray.dim), axis_of(other.dim)
    deed = f"`{op.function}`" if op.function else "this index"
    axis = ", ".join(map(str, axes_taken(op) or ()))
    return violated(
        conflict,
        f"{deed} takes `{wanted}` away and leaves `{here}`, which then meets `{wanted}`",
        f"{deed} takes `{here}` away, so that `{wanted}` stays",
        f"take the other axis: axis {axis} is `{wanted}`",
    )


def _wrong_axis_kept(conflict: Conflict) -> Obligation:
    op, other = conflict.blamed, conflict.meeting.right
    other = conflict.meeting.left if conflict.astray is other else other
    here, there = axis_of(conflict.astray.dim), axis_of(other.dim)
    shared = conflict.fitting[1] if conflict.fitting is not None else -1
    return violated(
        conflict,
        f"`{op.function}` keeps `{here}`, which then meets `{there}`, and runs over axis {shared}, which both have",
        f"`{op.function}` keeps axis {shared}, and runs over `{here}`",
        f"keep the axis that both arrays have: reduce over axis {conflict.astray.place} and not over axis {shared}",
    )


def _weights(facts: Facts, made: Normalised) -> Iterator[Obligation]:
    """Judge every sum that something normalised is the weights of."""
    for one in weighted_sums(facts, made):
        name = made.op.result.name
        weights = f"the weights `{name}`" if name else "the weights"
        if one.role == "summed":
            yield proved(made.op.span, f"{weights} add up to one over the axis they are summed over")
        elif one.role == "beside":
            yield _beside(one, weights)
        elif one.free or (one.role == "own" and is_grid(one, facts.flow)):
            yield _apart_from_sum(facts, one, weights)
        elif one.role == "aligned" and (mixed := information(facts, one)):
            severity = Severity.ERROR if mixed == "mixed" else Severity.WARNING
            yield replace(_elsewhere(facts, one, weights, None), severity=severity)


def _beside(one: WeightedSum, weights: str) -> Obligation:
    """Tell of a mixture that is summed over the points, and not over its parts."""
    return Obligation(
        one.total.span,
        message=f"`{one.total.function}` leaves the axis alone along which {weights} add up to one",
        current="it runs over another axis, which the weights do not have, so no two of them are ever added",
        expected="a mixture is a sum over its parts, along the axis of the weights",
        steps=(Step(one.made.op.span, f"{weights} add up to one over axis {one.made.slot.place} here"),),
        suggestion="sum over the axis of the weights",
    )


def _apart_from_sum(facts: Facts, one: WeightedSum, weights: str) -> Obligation:
    """Judge weights that are summed over another axis than the one along which they add up to one."""
    made = one.made
    before = already(facts, made)
    axis = made.slot.place
    if before is None and is_counted(facts, made):
        return unknown(made.op.span, f"{weights} are normalised over axis {axis}, and counted along another")
    if one.role == "own" and before is None and not (is_grid(one, facts.flow) or is_self_attention(facts, one)):
        reason = f"{weights} are normalised over axis {axis} and summed over another; shares of clusters are so"
        return unknown(made.op.span, reason)
    return _elsewhere(facts, one, weights, before)


def _elsewhere(facts: Facts, one: WeightedSum, weights: str, before: Normalised | None) -> Obligation:
    axis, summed = one.made.slot.place, axis_when_made(facts, one)
    steps = [Step(one.total.span, f"{weights} are summed over axis {summed} here; axis {axis} stays")]
    current = f"they are normalised over axis {axis}, which stays in the result: its entries hang together"
    if before is not None:
        steps.insert(0, Step(before.op.span, f"the entries add up to one over axis {axis} from here on"))
        current = f"they added up to one over axis {axis} before, so dividing by this sum changes nothing"
    return Obligation(
        one.made.op.span,
        message=f"{weights} add up to one over axis {axis}, but are summed over axis {summed}",
        current=current,
        expected=f"the weights add up to one over axis {summed}, the one that is summed over",
        steps=tuple(steps),
        suggestion=f"normalise over `axis={summed}`",
    )


def _totals(facts: Facts, made: Normalised) -> Iterator[Obligation]:
    """Judge every sum or mean of what adds up to one, over the very axis along which it does."""
    for share in shares(facts, made):
        for op in facts.flow.readers.get(share.slot.value, ()) if share.strict and share.slot.place is not None else ():
            wanted = op.name == "array.reduce" and op.function in (
                ("logsumexp",) if share.log else ADDITIONS | AVERAGES
            )
            taken = _taken(op, share.slot, facts.get(Shapes)) if wanted else ()
            sure = share.slot in taken and _is_surely(share.slot.value, made.op, facts.flow)
            # The entries that `where` chooses do not add up to one.
            if sure and not op.has("where") and not _is_checked(op, facts):
                yield _constant(made, op, alone=len(taken) == 1)


def _is_surely(value: Value, made: Op, flow: Flow) -> bool:
    """Whether a value is what an op gives on every path, and not one of several choices."""

    def before(one: Value) -> Value | None:
        op = flow.maker(one)
        if op is made:
            return None
        moves = op is not None and (op.name in MOVING or op.function in ("exp", "log"))
        found = behind(flow, one, nothing) if op is None or op.regions else op.operands[:1] if moves else ()
        return found[0] if len(found) == 1 else None

    return flow.maker(last(value, before)) is made


def _taken(op: Op, one: Slot, shapes: Shapes) -> list[Slot | None]:
    """Return the axes that a reduction takes away of its operand; all that are known where it names none."""
    axis = op.argument("axis")
    rank = shapes.of(one.value).rank
    axes = axes_in(axis) if axis is not None else None if rank is None else tuple(range(rank))
    return [slot(one.value, at, shapes) for at in axes or ()]


def _is_checked(total: Op, facts: Facts) -> bool:
    """Whether it is only made sure that entries add up to one, or they are divided by their sum once more."""
    if total.function in ADDITIONS and is_looked_at(facts, total.result):
        return True
    names = walk((total.result,), lambda one: ahead(facts.flow, one, lambda op: op.name in MOVING))
    found = [op for one in names for op in facts.flow.readers.get(one, ())]
    reading = [op for op in found if not op.regions and op.name not in MOVING | {"py.return"}]
    again = any(one.function == "divide" and one.operands[-1] is not one.operands[0] for one in reading)
    kinds = (one.function in EQUALITY_CHECKS | SUMS_OF_TWO and len(one.operands) == 1 for one in reading)
    return again or (bool(reading) and all(kinds))


def _constant(made: Normalised, op: Op, *, alone: bool) -> Obligation:
    axis, share = made.slot.place, "the share of each" if op.function in AVERAGES else "the total"
    return Obligation(
        made.op.span,
        severity=Severity.ERROR if alone else Severity.WARNING,
        message=f"the entries add up to one over axis {axis}, and `{op.function}` is over that axis too",
        current=f"{share} is the same number whatever the entries are, and no gradient goes through it",
        expected="what adds up to one is averaged over another axis, or normalised over another one",
        steps=(Step(op.span, f"`{op.function}` over the same axis"),),
        suggestion="normalise over the axis of what competes, and average over the other",
        cause=(*made.op.results, *op.results),
    )


def _picked(one: Pick) -> Obligation:
    name = one.normalise.function
    if one.axis == one.along:
        return proved(one.normalise.span, f"one of each is picked along the axis that `{name}` runs over")
    return Obligation(
        one.normalise.span,
        message=f"`{name}` runs over axis {one.axis}, but one of each is picked along axis {one.along}",
        current=f"the entries that are chosen between do not add up to one: those along axis {one.axis} do",
        expected=f"a distribution over axis {one.along}, along which one entry is picked",
        steps=(Step(one.op.span, f"one entry of each is picked along axis {one.along} here"),),
        suggestion=f"use `axis={one.along}`",
    )


def _of_two_ranks(one: TwoRanks) -> Obligation:
    function = one.op.function
    return Obligation(
        one.op.span,
        severity=Severity.ERROR if one.is_batch else Severity.WARNING,
        message=f"`{function}` runs over the batch too, in a function that is also called for one example",
        current="with a batch, what is computed of one example depends on all others",
        expected="one example gives the same, alone and in a batch",
        steps=(Step(one.one, "called for one example here"), Step(one.many, "called with one axis more here")),
        suggestion=f"name the axis: `{function}(axis=-1, keepdims=True)`, or call the function under `vmap`",
    )
