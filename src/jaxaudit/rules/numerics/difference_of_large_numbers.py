"""The rule `difference-of-large-numbers`."""

from __future__ import annotations

import math
from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.elements import whole_of
from jaxaudit.analyses.python_values import python_values
from jaxaudit.analyses.ranges import Range, Ranges
from jaxaudit.analyses.ranges.dtypes import PRECISE_UP_TO
from jaxaudit.analyses.tracing.facts import TracingFacts
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, Rule, Step, named, proved, unknown
from jaxaudit.rules.numerics._shared.double_precision import has_x64


class DifferenceOfLargeNumbers(Rule):
    """Two numbers that are too large for their floating type are subtracted.

    ## What it does
    Looks at differences of arrays of JAX in `float32` and coarser types whose operands are both above the largest
    number up to which the type has all whole numbers (16,777,216 in `float32`).

    ## Why is this bad?
    A time in seconds since 1970 is rounded to 128 seconds in `float32`. Once it is rounded, the difference of two is a
    multiple of that: it is zero, or wrong. NumPy computes in `float64`, and JAX rounds what it is given.

    ## Example
        age = jnp.asarray(now) - jnp.asarray(times)

    ## Use instead
        age = jnp.asarray(now - times)

    ## When it cannot tell
    When the range of the numbers or their dtype is not known.
    """

    summary = "Numbers that were rounded to a coarse floating type are subtracted."
    needs = (Ranges, TracingFacts)

    valid = """
    ## subtracted before they are rounded
    import numpy as np
    times = 1_718_000_000.0 + np.random.default_rng(0).uniform(0, 86_400, size=(8,))
    age = jnp.asarray(times[1:] - times[:-1])

    ## small enough, and integers
    import numpy as np
    days = jnp.asarray(19_000.0 + np.random.default_rng(0).uniform(0, 365, size=(8,)))
    gaps = days[1:] - days[:-1]
    ids = jnp.asarray(20_000_000 + np.random.default_rng(0).integers(0, 99, size=(8,)))
    steps = ids[1:] - ids[:-1]

    ## infinities, which are not rounded
    masked = jnp.full((3,), jnp.inf, jnp.float32)
    gaps = (masked + 1.0) - masked
    """
    invalid = """
    ## rounded first
    import numpy as np
    times = 1_718_000_000.0 + np.random.default_rng(0).uniform(0, 86_400, size=(8,))
    now = times[-1] + 5.0
    age = jnp.asarray(now) - jnp.asarray(times)  #!

    ## rounded by a compiled function
    import numpy as np

    @jax.jit
    def gaps(times):
        return times[1:] - times[:-1]  #!

    gaps(1_718_000_000.0 + np.random.default_rng(0).uniform(0, 86_400, size=(8,)))
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every difference of two arrays that may be too large for it."""
        ranges = facts.get(Ranges)
        for op in program.named("array.map"):
            x, y = op.argument("x"), op.argument("y")
            if op.function == "subtract" and isinstance(x, Value) and isinstance(y, Value):
                yield from _judge(op, x, y, ranges, facts)


def _judge(op: Op, x: Value, y: Value, ranges: Ranges, facts: Facts) -> Iterator[Obligation]:
    dtype = ranges.known.dtype(op.result) or ""
    limit = PRECISE_UP_TO.get(dtype)
    smallest = [_smallest(ranges.of(one)) for one in (x, y)]
    if limit is None or not all(smallest) or (dtype == "float32" and has_x64(facts)):
        return
    if math.isinf(max(smallest)):
        yield unknown(op.span, "one operand is infinite, and the difference may be no number")
        return
    values = python_values(facts)
    if not any(values.is_jax_array(one) for one in (op.result, x, y)):
        return
    if min(smallest) <= limit:
        small = all(max(-ranges.of(one).low, ranges.of(one).high) <= limit for one in (x, y))
        reason = f"what is subtracted is small enough for `{dtype}`"
        yield proved(op.span, reason) if small else unknown(op.span, f"whether {reason} is not known")
        return
    yield Obligation(
        op.span,
        message=f"{named(x, 'one operand')} and {named(y, 'the other')} are above {limit:,} and in `{dtype}`",
        current=f"both were rounded to multiples of {_spacing(min(smallest), limit):,}, and so is their difference",
        expected="the difference is taken before the numbers are rounded",
        steps=tuple(_made(facts.flow, one) for one in (x, y)),
        suggestion="subtract in NumPy, which computes in `float64`, and hand the difference to JAX",
    )


def _smallest(known: Range) -> float:
    """Return how far from zero numbers are at least."""
    return max(known.low, -known.high, 0.0)


def _spacing(number: float, limit: int) -> int:
    """Return how far apart neighbours are in a type that has all whole numbers up to a limit."""
    return 1 << max(0, math.ceil(math.log2(number / limit)))


def _made(flow: Flow, value: Value) -> Step:
    whole = whole_of(flow, value)
    return Step(whole.span, f"{named(value, 'this')} is large here")
