"""The rule `variance-merged-without-means`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import contexts
from jaxaudit.analyses.lineage.products import Product, Sums, is_whole_sum
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import ADDITIONS, AVERAGES
from jaxaudit.ir.interfaces import complement
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved

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


class VarianceMergedWithoutMeans(Rule):
    """The spreads of two samples are added up, and the distance of their means is left out or counted twice.

    ## What it does
    Finds sums of the squares, or of variances weighted by counts, of one sample and of what is known of others, where
    their means are merged as well. Such a sum needs the squared distance of the two means. Squares that were taken
    around the mean of the others have it already, so there it must not be added.

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

    summary = "The spreads of two samples are merged without the distance of their means, or with it twice."

    valid = (
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
    )
    invalid = (
        Example(_MERGE.format(spread="batch.var(axis=0)", shift="", early="", mark="  #!"), "without their distance"),
        Example(
            _MERGE.format(spread="jnp.mean((batch - mean) ** 2, axis=0)", shift=_SHIFT, early="  #!", mark=""),
            "around the other mean",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every sum of the spread of a sample and of something else."""
        flow = facts.flow
        sums = [op for op in program.mapping("add", "subtract") if is_whole_sum(flow, op)]
        for op in sums if any(map(_is_spread, program.named("array.reduce"))) else ():
            for context in contexts(flow, op):
                reader = _Reader(flow, Sums(flow, context))
                for moment, part in reader.moments(op):
                    yield from _judge(op, moment, part, reader)


def _is_spread(op: Op) -> bool:
    return op.function in ADDITIONS | AVERAGES | {"var", "nanvar"}


@record
class _Moment:
    """The squared distances of a sample from its own mean, or from another centre."""

    op: Op
    data: Value
    centre: Value | None


@record
class _Reader:
    flow: Flow
    sums: Sums

    def parts(self, op: Op) -> list[Product]:
        """Return the parts of a sum, with what they are divided by left out."""
        found = self.sums.products(op.result)
        return [Product(one.coefficient, tuple(self._numerators(one)), one.masks) for one in found]

    def _numerators(self, part: Product) -> Iterator[Value]:
        pending = [*part.factors]
        while pending:
            value = pending.pop(0)
            op = self.flow.maker(value)
            ratio = op is not None and op.name == "array.map" and op.function in ("divide", "multiply")
            if op is None or not ratio:
                yield value
            else:
                above = (op.arguments.get("x"), op.arguments.get("y") if op.function == "multiply" else None)
                pending += [self.sums.source(one) for one in above if isinstance(one, Value)]

    def moments(self, op: Op) -> Iterator[tuple[_Moment, Product]]:
        """Return the spreads that a sum adds to others of a sample that is not seen here."""
        parts = self.parts(op)
        for part in parts:
            found = next((one for value in part.factors if (one := self._moment(value)) is not None), None)
            others = [one for one in parts if one is not part and one.coefficient > 0 and one.factors]
            if found is not None and others and part.coefficient > 0 and not self.forgets(parts):
                yield found, part

    def forgets(self, parts: list[Product]) -> bool:
        """Whether the weights are those of a moving average: numbers, or `w` and `1 - w`."""
        numbers = any(abs(one.coefficient) != 1.0 for one in parts)
        makers = (self.flow.maker(value) for one in parts for value in one.factors)
        return numbers or any(complement(op) is not None for op in makers)

    def _moment(self, value: Value) -> _Moment | None:
        op = self.sums.maker(value)
        data = op.value("a") if op is not None and op.name == "array.reduce" else None
        if op is None or data is None or not _is_spread(op):
            return None
        if op.function in ("var", "nanvar"):
            return _Moment(op, self.sums.source(data), None)
        difference = self.squared(data)
        x, centre = (None, None) if difference is None else (difference.value("x"), difference.value("y"))
        if x is None or centre is None:
            return None
        x, centre = self.sums.source(x), self.sums.source(centre)
        return _Moment(op, x, None if self.is_mean(centre, x) else centre)

    def squared(self, value: Value) -> Op | None:
        """Return the difference whose square a value is."""
        op = self.sums.maker(value)
        if op is None or op.name != "array.map" or not op.operands:
            return None
        twice = op.function == "multiply" and len(op.operands) == 2 and op.operands[0] is op.operands[1]
        if not twice and op.function != "square" and (op.function != "power" or op.arguments.get("y") not in (2, 2.0)):
            return None
        difference = self.sums.maker(op.operands[0])
        return difference if difference is not None and difference.function == "subtract" else None

    def is_mean(self, value: Value, data: Value) -> bool:
        """Whether a value is the mean of some data."""
        op = self.sums.maker(value)
        given = op.value("a") if op is not None and op.function in AVERAGES else None
        return given is not None and self.sums.source(given) is data

    def is_made_of(self, part: Product, values: list[Value], but: Sequence[Value] = ()) -> bool:
        """Whether a part of a sum is computed from some values, in the same turn of a loop, not by way of others."""

        def step(value: Value) -> list[Value]:
            op = None if value in but else self.flow.maker(value)
            # How many there are says nothing of the data.
            if op is not None and op.name == "array.shape":
                return []
            return [self.sums.source(one) for one in (() if op is None else op.operands)]

        return any(one in values for one in walk(part.factors, step))

    def has_part_for(self, merged: Sequence[Product], other: Product) -> bool:
        """Whether a merged mean has a part for the sample of a spread: that of its mean, where it is seen here."""
        reduced = [
            one for one in other.factors if (op := self.sums.maker(one)) is not None and op.name == "array.reduce"
        ]
        found = [self._moment(one) for one in reduced]
        means = [mean for one in found if one is not None for mean in self.means(one.data)]
        return not reduced or any(self.is_made_of(part, means) for part in merged)

    def means(self, data: Value) -> list[Value]:
        """Return the means of some data, wherever they are taken."""
        reduced = self.flow.program.named("array.reduce")
        return [one.result for one in reduced if one.function in AVERAGES and self.is_mean(one.result, data)]


def _judge(op: Op, moment: _Moment, own: Product, reader: _Reader) -> Iterator[Obligation]:
    means = reader.means(moment.data)
    others = [one for one in reader.parts(op) if one.factors != own.factors]
    shifts = [one for one in others if reader.is_made_of(one, means)]
    if moment.centre is not None:
        twice = [value for one in shifts for value in one.factors if _is_distance(value, moment, reader)]
        if twice:
            yield _counted_twice(moment, op)
    elif shifts:
        yield proved(op.span, "the distance of the means is added to the squares")
    elif (merged := _merged(op, own, moment, reader)) is not None:
        yield _left_out(op, moment, merged)


def _is_distance(value: Value, moment: _Moment, reader: _Reader) -> bool:
    """Whether a value is the squared distance of the mean of the data from what their squares were taken around."""
    difference = reader.squared(value)
    sides = () if difference is None else tuple(reader.sums.source(one) for one in difference.operands)
    return moment.centre in sides and any(reader.is_mean(one, moment.data) for one in sides)


def _merged(op: Op, own: Product, moment: _Moment, reader: _Reader) -> Op | None:
    """Return where the mean of the data is merged with another one, by weights that are computed, beside a sum.

    The other one is the mean of the sample whose spread is added: the mean square of another quantity is no sample. A
    merged mean holds nothing of the data but their mean, as data do that are normalised.
    """
    means = reader.means(moment.data)
    added = [one for one in reader.parts(op) if one.factors != own.factors and one.factors]
    for one in reader.flow.places.region_of[op].ops:
        if one is op or not is_whole_sum(reader.flow, one):
            continue
        parts = reader.sums.products(one.result)
        of_data = [part for part in parts if reader.is_made_of(part, means)]
        if any(reader.is_made_of(part, [moment.data], but=means) for part in parts):
            continue
        weighed = any(value not in means for part in of_data for value in part.factors)
        apart = [part for part in parts if part.coefficient == 1.0 and part not in of_data]
        others = bool(apart) and all(reader.has_part_for(apart, spread) for spread in added)
        if weighed and others and not reader.forgets(list(parts)):
            return one
    return None


def _left_out(op: Op, moment: _Moment, merged: Op) -> Obligation:
    return Obligation(
        op.span,
        message="the spreads of two samples are added up without the distance of their means",
        current="each spread is around a mean of its own, so the sum is smaller than the spread around the merged mean",
        expected="the squared distance of the two means is added, with the weight `n * m / (n + m)`",
        steps=(
            Step(moment.op.span, "the spread of one sample around its own mean is taken here"),
            Step(merged.span, "the means are merged here"),
        ),
        suggestion="add `(mean_b - mean_a)**2 * n * m / (n + m)` to the sum of squares",
    )


def _counted_twice(moment: _Moment, op: Op) -> Obligation:
    return Obligation(
        moment.op.span,
        message="these squares are around the mean of the other sample, and the distance of the means is added again",
        current="squares around another mean have the distance of the means in them already",
        expected="the squares are taken around the mean of their own sample",
        steps=(Step(op.span, "the squared distance of the means is added here"),),
        suggestion="subtract the mean of the same data before squaring, or leave the distance out",
    )
