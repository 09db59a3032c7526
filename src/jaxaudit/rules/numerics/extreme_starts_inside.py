"""The rule `extreme-starts-inside`."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import made_of, walk
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import AVERAGES, CONJUNCTIONS, EXTREMES, LARGER, ORDERINGS, SMALLER
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import LOOPS, MOVING, UNFOLLOWED
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, named, proved, unknown


class ExtremeStartsInside(Rule):
    """A loop keeps the largest or smallest value, and starts among the values themselves.

    ## What it does
    Looks at every loop that keeps the largest (smallest) of some values, by `max`, `jnp.maximum`, `jnp.where` or an
    `if`, and compares what it starts with to the range of these values.

    ## Why is this bad?
    A largest value that starts at 0 stays 0 where all values are negative: the best result is never recorded.

    ## Example
        best = 0.0
        for step in range(steps):
            score = evaluate(step)
            if score > best:
                best, kept = score, params

    ## Use instead
        best = -jnp.inf

    ## When it cannot tell
    When it starts at another number than 0, which somebody chose, or with something that is computed.
    """

    summary = "A running maximum starts at a number that values may be below, so they are never taken."
    needs = (Ranges,)

    valid = """
    ## below everything
    def best(evaluate, n):
        most, longest = -jnp.inf, 0
        for i in range(n):
            most = max(most, evaluate(i))
            longest = max(longest, len(evaluate(i)))
        return most, longest

    def largest(xs):
        return jax.lax.scan(lambda most, x: (jnp.maximum(most, jnp.abs(x)), None), 0.0, xs)
    """
    invalid = """
    ## zero for the largest
    def best(evaluate, n):
        most, kept = 0.0, None
        for i in range(n):
            score = evaluate(i)
            if n > 1 and score > most:  #?
                most, kept = score, i
        return kept

    ## zero for the smallest
    def least(xs):
        return jax.lax.scan(lambda least, x: (jnp.minimum(least, jnp.exp(x)), None), 0.0, xs)  #?
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loop that keeps an extreme."""
        for op in program.named(*LOOPS):
            loop = Loop.of(op)
            for one, (param, after) in zip(loop.carried, loop.successors, strict=False) if loop is not None else ():
                kept = _kept(param, after, facts.flow)
                if kept is not None:
                    yield _judge(kept, one.start, facts)


@record
class _Kept:
    """What a loop keeps of one turn."""

    op: Op
    """What chooses."""
    other: Value
    """What the turn has to offer."""
    largest: bool


def _kept(param: Value, after: Value, flow: Flow) -> _Kept | None:
    """Return how a turn keeps the larger or smaller of what is carried and something else."""
    op = flow.maker(after)
    if op is None:
        return None
    if op.function in LARGER | SMALLER and len(op.operands) == 2 and param in op.operands:
        other = next((one for one in op.operands if one is not param), None)
        return None if other is None else _Kept(op, other, op.function in LARGER)
    if op.name == "array.select":
        test, sides = op.arguments.get("condition"), [op.arguments.get("x"), op.arguments.get("y")]
    elif op.name == "py.branch" and len(op.regions) == 2 and op.operands:
        at = op.results.index(after)
        test, sides = op.operands[0], [one.results[at] if at < len(one.results) else None for one in op.regions]
    else:
        return None
    asked = _comparison(test, param, flow) if isinstance(test, Value) and param in sides else None
    if asked is None:
        return None
    other = sides[1] if sides[0] is param else sides[0]
    compared = [asked.arguments.get("x"), asked.arguments.get("y")]
    if not isinstance(other, Value) or {*compared} != {param, other}:
        return None
    # `other > kept` takes the larger one; each of three exchanges turns it round.
    turned = [asked.function.startswith("less"), compared[0] is param, sides[0] is param]
    return _Kept(asked, other, sum(turned) % 2 == 0)


def _comparison(test: Value, param: Value, flow: Flow) -> Op | None:
    """Return the comparison of what is carried that a condition consists of, alone or with others."""

    def parts(value: Value) -> tuple[Value, ...]:
        op = flow.maker(value)
        both = op is not None and (op.operator == "and" or op.function in CONJUNCTIONS)
        return op.operands if op is not None and both else ()

    made = (flow.maker(one) for one in walk((test,), parts))
    return next((op for op in made if op is not None and op.function in ORDERINGS and param in op.operands), None)


def _judge(kept: _Kept, start: Value, facts: Facts) -> Obligation:
    span, ranges = kept.op.span, facts.get(Ranges)
    number, values = ranges.of(start).constant, ranges.of(kept.other)
    lowest, highest = (values.low, values.high) if kept.largest else (-values.high, -values.low)
    sign = 1 if kept.largest else -1
    most, beyond = ("largest", "below") if kept.largest else ("smallest", "above")
    if number is not None and (not isfinite(number) or sign * number <= lowest):
        return proved(span, f"no value lies {beyond} what it starts with")
    if number != 0 or not (highest <= 0 or (_is_open(kept.other, facts.flow) and not _counts(start, facts.flow))):
        return unknown(span, "whether every value is beyond what it starts with is not known")
    return Obligation(
        span,
        severity=Severity.WARNING,
        message=f"the {most} value so far starts at 0, so values {beyond} 0 are never taken",
        current=f"where all of {named(kept.other, 'the values')} lie {beyond} 0, it stays 0",
        expected=f"it starts {beyond} all values",
        steps=(Step(start.span, "it starts here"),),
        suggestion=f"start at `{'-' if kept.largest else ''}jnp.inf`, or with the first value",
    )


def _counts(start: Value, flow: Flow) -> bool:
    """Whether a number is written as an integer: what starts at `0` and not at `0.0` is mostly counted."""
    maker = flow.maker(start)
    return maker is not None and isinstance(maker.constant, int)


def _is_open(value: Value, flow: Flow) -> bool:
    """Whether a value is, or averages, what somebody else computes: it may be anything."""
    source = made_of(flow, value, lambda op: op.name in MOVING or op.function in AVERAGES | EXTREMES)
    maker = flow.maker(source)
    return maker is None or maker.name in UNFOLLOWED or maker.name in ("py.attr", "py.item")
