"""The rule `computed-twice`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.products import Sums, is_whole_sum
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import EXTREMES_OF_TWO, SUMS_OF_TWO
from jaxaudit.ir.interfaces import inside_of
from jaxaudit.ir.ops import ALONG_AN_AXIS, DERIVATIVES
from jaxaudit.rules.base import Obligation, Rule, Step, proved, unknown
from jaxaudit.rules.flow._shared.sameness import are_alike, is_same


class ComputedTwice(Rule):
    """Two variables hold the same, computed twice in the same way, and are then combined.

    ## What it does
    Compares the two sides of every sum, difference, maximum and minimum of two arrays. Each is followed back through
    what computes it. Where both are made alike, step by step, from the same values, there is nothing to combine. So it
    is with two derivatives of one function by one argument, which stand in two places and are factors of one sum.

    ## Why is this bad?
    One of two lines that should differ was copied and not changed: the loss of both directions is that of one
    direction, counted twice. Nothing fails, and the numbers look right.

    ## Example
        to_text = jax.nn.log_softmax(logits, axis=1)
        to_image = jax.nn.log_softmax(logits, axis=1)
        loss = -(jnp.diagonal(to_text) + jnp.diagonal(to_image)).mean()

    ## Use instead
        to_text = jax.nn.log_softmax(logits, axis=1)
        to_image = jax.nn.log_softmax(logits, axis=0)
        loss = -(jnp.diagonal(to_text) + jnp.diagonal(to_image)).mean()

    ## When it cannot tell
    What layers compute is not compared. `x + x`, and what is written in one expression, is taken as meant.
    """

    summary = "Two variables that are computed in the same way from the same values are combined."
    valid = """
    ## along both axes
    def both(logits):
        rows = jax.nn.log_softmax(logits, axis=1)
        columns = jax.nn.log_softmax(logits, axis=0)
        return jnp.diagonal(rows) + jnp.diagonal(columns)

    ## twice as much
    def twice(x):
        total = x.sum(axis=0)
        return total + total, x.max(axis=0) + x.max(axis=0), jnp.sqrt(x.mean(0)) * jnp.sqrt(x.mean(0))

    ## by time and by place
    def wave(t, x):
        return jnp.sin(x - t)

    d_time = jax.grad(wave, argnums=0)
    d_place = jax.grad(wave, argnums=1)

    def residual(t, x):
        return d_time(t, x) + wave(t, x) * d_place(t, x)

    ## one derivative, twice
    def energy(x):
        return jnp.sum(x**4)

    def force(x):
        slope = jax.grad(energy)
        return slope(x) + 0.5 * slope(x) * x

    ## of different values
    def spread(x, y):
        first = x.max(axis=0)
        second = y.max(axis=0)
        return first - second
    """
    invalid = """
    ## both along one axis
    def both(logits):
        rows = jax.nn.log_softmax(logits, axis=1)
        columns = jax.nn.log_softmax(logits, axis=1)  #!
        return jnp.diagonal(rows) + jnp.diagonal(columns)

    ## the same loss in both directions
    import optax

    def both_ways(logits, labels):
        there = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
        back = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()  #!
        return (there + back) / 2

    ## by time, and by time once more
    def wave(t, x):
        return jnp.sin(x - t)

    d_time = jax.grad(wave, argnums=0)
    d_place = jax.grad(wave, argnums=0)  #!

    def residual(t, x):
        return d_time(t, x) + wave(t, x) * d_place(t, x)

    ## the spread of one thing
    def spread(x):
        high = jnp.max(x * 2, axis=0)
        low = jnp.max(x * 2, axis=0)  #!
        return jnp.log(high) - jnp.log(low)
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every sum, difference, maximum and minimum of two arrays that are both computed."""
        for op in program.named("array.map"):
            if op.function in SUMS_OF_TWO | EXTREMES_OF_TWO and len(op.operands) == len(set(op.operands)) == 2:
                yield from _judge(op, facts.flow)
            if is_whole_sum(facts.flow, op):
                yield from _derivatives(op, facts.flow)


def _derivatives(op: Op, flow: Flow) -> Iterator[Obligation]:
    """List every two derivatives of one function in one sum that were asked for in two places."""
    sums = Sums.of(flow, {})
    factors = dict.fromkeys(one for part in sums.ratios(op.result) for one in part.above.factors)
    found = ((one, _element(one, flow)) for one in factors)
    made = [(one, by) for one, of in found if (by := flow.maker(of)) is not None and by.name in DERIVATIVES]
    for (first, one), (second, other) in combinations(made, 2):
        if one.wrapped is None or other.wrapped is None or one.wrapped == other.wrapped:
            continue
        if one.regions[0].span == other.regions[0].span:
            yield _differ(op, one, other, same=is_same(_element(first, flow), _element(second, flow), flow))


def _element(value: Value, flow: Flow) -> Value:
    """Return what a map computes for one element, where a value is what it gives for all."""
    made = flow.maker(value)
    inside = () if made is None or made.name != "vmap" else inside_of(made, flow.position(made.results, value))
    return next((one for _, one in inside), value)


def _differ(op: Op, first: Op, second: Op, *, same: bool | None) -> Obligation:
    places = [one.wrapped or one.span for one in (first, second)]
    if first.differentiated != second.differentiated:
        return proved(places[1], f"this derivative is by another argument than that of line {places[0].line}")
    if not same:
        return unknown(places[1], f"whether this is the derivative of line {places[0].line} once more is not known")
    return Obligation(
        places[1],
        message=f"this is the derivative of `{second.function}` that line {places[0].line} takes, by the same argument",
        current="both are equal, and they stand in one sum as two",
        expected="the two differ: in what they are taken by, or where",
        steps=(Step(places[0], "it is taken here first"), Step(op.span, "both are combined here")),
        suggestion="take one of them by another argument, or use one derivative twice where that is meant",
    )


def _judge(op: Op, flow: Flow) -> Iterator[Obligation]:
    first, second = op.operands
    if not all((made := flow.maker(one)) is not None and made.name.startswith("array.") for one in (first, second)):
        return
    pair = next((pair for pair in _copies(first, second, flow) if _is_written_twice(*pair)), None)
    alike = is_same(first, second, flow)
    if alike is None:
        yield unknown(op.span, "both sides are computed alike, of values that come from elsewhere and may be one")
    elif not alike:
        yield proved(op.span, "the two sides are computed differently")
    elif pair is not None:
        yield _finding(op, *sorted(pair, key=lambda one: one.span))
    else:
        yield unknown(op.span, "both sides are the same, in one expression or as a step of two")


def _is_written_twice(first: Op, second: Op) -> bool:
    names = [one.result.name for one in (first, second)]
    return first.name in ALONG_AN_AXIS and all(names) and names[0] != names[1] and first.span != second.span


def _copies(first: Value, second: Value, flow: Flow) -> Iterator[tuple[Op, Op]]:
    """Return the pairs of ops that do the same, from two values backwards along their first operands."""
    while first is not second:
        one, other = flow.maker(first), flow.maker(second)
        if one is None or other is None or not are_alike(one, other) or not one.operands:
            return
        yield one, other
        differing = [pair for pair in zip(one.operands, other.operands, strict=True) if pair[0] is not pair[1]]
        if not differing:
            return
        first, second = differing[0]


def _finding(op: Op, first: Op, second: Op) -> Obligation:
    one, other = first.result.name, second.result.name
    return Obligation(
        second.span,
        message=f"`{other}` is computed exactly as `{one}` is, and the two are combined",
        current=f"`{one}` and `{other}` are equal, so `{op.function}` combines a value with itself",
        expected="the two differ: in their axis, or in what they are computed of",
        steps=(Step(first.span, f"`{one}` is computed here"), Step(op.span, "both are combined here")),
        suggestion=f"change what one of them is computed of, or use `{one}` twice where that is meant",
    )
