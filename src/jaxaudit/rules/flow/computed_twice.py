"""The rule `computed-twice`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import EXTREMES_OF_TWO, SUMS_OF_TWO
from jaxaudit.ir.ops import ALONG_AN_AXIS
from jaxaudit.rules.base import Obligation, Rule, Step, proved, unknown
from jaxaudit.rules.flow._shared.sameness import are_alike, is_same


class ComputedTwice(Rule):
    """Two variables hold the same, computed twice in the same way, and are then combined.

    ## What it does
    Compares the two sides of every sum, difference, maximum and minimum of two arrays. Each is followed back through
    what computes it. Where both are made alike, step by step, from the same values, there is nothing to combine.

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
