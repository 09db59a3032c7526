"""The rule `variance-merged-without-means`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.merges import Mean, Merging, merging
from jaxaudit.analyses.queries import ahead, last, operands_of, readers, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import AWAY_FROM_ZERO, SCALINGS
from jaxaudit.ir.ops import KEEPING
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown

_MERGE = """
def update(mean, var, count, batch):
    size = batch.shape[0]
    middle = batch.mean(axis=0)
    spread = {spread}{early}
    total = count + size
    delta = middle - mean
    squares = var * count + spread * size{shift}{mark}
    return mean + delta * size / total, squares / total, total
"""
_SHIFT = " + delta**2 * count * size / total"


_ONE_BY_ONE = """
def update(state, batch):
    count, mean, squares = state
    {count}
    delta = batch - mean
    mean = mean + jnp.{weight}(delta, axis=0) / count
    return count, mean, squares + jnp.sum(delta * (batch - mean), axis=0)


def deviation(batches):
    start = (jnp.zeros(()), jnp.zeros(3), jnp.zeros(3))
    count, _, squares = jax.lax.scan(lambda state, batch: (update(state, batch), None), start, batches)[0]
    return jnp.sqrt(squares / jnp.maximum(count, 1.0))


deviation(jnp.ones((9, 32, 3)))
"""


class VarianceMergedWithoutMeans(Rule):
    """The spreads of two samples are added up, and the distance of their means is left out or counted twice.

    ## What it does
    Finds running means that take a sample in by a weight that falls as a count grows, and the running spreads beside
    them: variances, sums of squares. What is written is tried out on numbers. It has to give the mean and the spread of
    both samples together, so the weights fit the count, and the squared distance of the two means, as they were, is in
    the spread once. A sum of squares that is divided by a count has as many squares in it as are counted.

    ## Why is this bad?
    Where the samples drift apart, as observations do while a policy learns, the spread comes out too small, or too
    large. What is divided by it has the wrong scale, and nothing is raised.

    ## Example
        squares = var * count + batch.var(axis=0) * size

    ## Use instead
        delta = batch.mean(axis=0) - mean
        squares = var * count + batch.var(axis=0) * size + delta**2 * count * size / (count + size)

    ## When it cannot tell
    A moving average, with weights `w` and `1 - w`, forgets on purpose. Without a merged mean, the sum may be the spread
    within groups.
    """

    needs = (Shapes,)
    summary = "The spreads of two samples are merged without the distance of their means, or with it twice."

    valid = (
        Example(_ONE_BY_ONE.format(count="count = count + 32", weight="sum"), "a size that is written down"),
        Example(_ONE_BY_ONE.format(count="count = count + batch.shape[0]", weight="sum"), "as many as there are"),
        Example(
            _ONE_BY_ONE.format(count="count = count + 1", weight="mean").replace(
                "jnp.maximum(count, 1.0)", "(32 * count)"
            ),
            "batches that are counted, times their size",
        ),
        Example(_MERGE.format(spread="batch.var(axis=0)", shift=_SHIFT, early="", mark=""), "with their distance"),
        Example(
            """
            def update(mean, var, batch):
                return 0.9 * mean + 0.1 * batch.mean(0), 0.9 * var + 0.1 * batch.var(0)

            def pooled(x, y):
                n, m = x.shape[0], y.shape[0]
                return (x.mean() - y.mean()) / jnp.sqrt((x.var() * n + y.var() * m) / (n + m - 2))
            """,
            "a moving average, the spread within groups",
        ),
        Example(
            """
            def turbulence(u, v, w, speed):
                mean = jnp.mean(u, axis=0)
                total = jnp.sqrt(mean * speed + v * v + w * w)
                return total, jnp.mean((u - mean) ** 2, axis=0) + jnp.mean(v**2, axis=0) + jnp.mean(w**2, axis=0)
            """,
            "the squares of other quantities",
        ),
        Example(
            """
            def layer_norm(x, scale, bias, epsilon):
                x = x - jnp.mean(x, axis=-1, keepdims=True)
                x = x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + epsilon)
                return x * scale + bias
            """,
            "data that are normalised",
        ),
        Example(
            """
            import numpy as np

            def merged(mean, count, batch):
                size = (batch.dtype == np.dtype("V2")) + 1
                return (mean * count + batch.mean(0) * size) / (count + size)
            """,
            "a dtype that no array is asked for",
        ),
    )
    invalid = (
        Example(_ONE_BY_ONE.format(count="count = count + 1  #!", weight="mean"), "each batch counts as one sample"),
        Example(_MERGE.format(spread="batch.var(axis=0)", shift="", early="", mark="  #!"), "without their distance"),
        Example(
            _MERGE.format(spread="jnp.mean((batch - mean) ** 2, axis=0)", shift=_SHIFT, early="", mark="  #!"),
            "around the other mean",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every mean and every spread that takes other samples in."""
        for one in merging(facts):
            for mean in one.means():
                yield from _judged(one, mean, facts.flow)


def _judged(one: Merging, mean: Mean, flow: Flow) -> Iterator[Obligation]:
    if not mean.is_exact:
        grown = one.grows(mean)
        # A weight that falls as a count grows may be a rate of learning: where the count is that of samples it is not.
        if grown is None or all(abs(grown[1] - wanted) >= 1e-6 for wanted in (mean.base, mean.moved)):
            return
        if one.may_fit(mean):
            yield unknown(mean.new.span, "how many samples there are is not known, and a number may stand for it")
        else:
            yield _misweighed(mean, flow)
        return
    yield proved(mean.new.span, f"{named(mean.new, 'the mean')} weighs both samples by their counts")
    for spread in one.spreads(mean):
        new, counted = spread.new, one.grows(mean)
        counts_one = spread.is_total and counted is not None and counted[1] == 1
        quotient = _quotient(new, counted[0], flow) if counts_one and counted is not None else None
        if quotient is not None and counted is not None:
            yield _counted_as_one(new, counted[0], quotient)
        elif spread.is_exact:
            yield proved(new.span, f"{named(new, 'the spread')} is that of both samples, weighed by their counts")
        else:
            yield _apart(new, mean, knows=spread.knows, flow=flow)


def _quotient(total: Value, count: Value, flow: Flow) -> Op | None:
    """Return what divides a total by a count and does not scale it any further; None where nothing does."""
    counts = {*walk((count,), lambda one: ahead(flow, one, lambda op: op.name in KEEPING or _is_guard(op)))}
    totals = {*walk((total,), lambda one: ahead(flow, one, through_ops(*KEEPING)))}
    for op in flow.program.mapping("divide"):
        if op.value("x") in totals and op.value("y") in counts:
            further = (one.function for one in readers(flow, op.result) if one.name == "array.map")
            return None if SCALINGS.intersection(further) else op
    return None


def _is_guard(op: Op) -> bool:
    """Whether an op keeps a number away from zero."""
    return op.name == "array.map" and op.function in AWAY_FROM_ZERO and len(op.operands) == 1


def _counted_as_one(new: Value, count: Value, quotient: Op) -> Obligation:
    spread, counted = named(new, "the spread"), named(count, "the count")
    return Obligation(
        count.span,
        message=f"{counted} grows by one for a whole sample, and {spread} by the square of each of its elements",
        current=f"{spread} divided by {counted} is as many times too large as there are elements in a sample",
        expected="what a total is divided by is how many elements were added up",
        steps=(
            Step(new.span, "the squares of all elements are added up here"),
            Step(quotient.span, f"divided by {counted} here"),
        ),
        suggestion="let the count grow by the number of elements (`batch.shape[0]`), and weigh the mean by it",
    )


def _misweighed(mean: Mean, flow: Flow) -> Obligation:
    return Obligation(
        mean.new.span,
        message=f"{named(mean.new, 'the mean')} takes a sample in by another weight than it has in the count",
        current=f"the count grows by another number than the one that {named(mean.new, 'the mean')} moves by",
        expected="the mean of the sample has the weight `n / (count + n)`",
        steps=tuple(_calculations(mean.new, flow)),
        suggestion="move the mean by `(batch_mean - mean) * n / (count + n)`",
    )


def _apart(new: Value, mean: Mean, *, knows: bool, flow: Flow) -> Obligation:
    left_out = "the spreads of two samples are added up without the distance of their means"
    return Obligation(
        _total(new, flow).span,
        message=f"{named(new, 'the spread')} is not the spread of both samples: their means count otherwise"
        if knows
        else left_out,
        current="where the two samples have different means, the spread comes out too small or too large",
        expected="the squared distance of the two means, as they were, is added with the weight `n * m / (n + m)`",
        steps=(Step(mean.new.span, "the means are merged here"), *_calculations(new, flow)),
        suggestion="add `(batch_mean - mean)**2 * count * n / (count + n)` to the sums of squares, with the old mean",
    )


def _total(value: Value, flow: Flow) -> Value:
    """Return the sum that a value is, before it is divided."""

    def step(one: Value) -> Value | None:
        op = flow.maker(one)
        above = op.value("x") if op is not None and op.function == "divide" else None
        return above if above is not None and flow.maker(above) is not None else None

    return last(value, step)


def _calculations(value: Value, flow: Flow) -> Iterator[Step]:
    """Return the lines that a value is computed on."""
    ops = (op for one in walk((value,), lambda it: operands_of(flow, it)) if (op := flow.maker(one)) is not None)
    lines = {op.span.line: op.span for op in ops if op.name in ("array.map", "array.reduce")}
    return (Step(lines[line], "a part of it is computed here") for line in sorted(lines))
