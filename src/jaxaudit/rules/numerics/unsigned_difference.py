"""The rule `unsigned-difference`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import NEEDS_SIGN
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, Verdict, proved, unknown

_UNSIGNED = frozenset(("uint8", "uint16", "uint32"))


class UnsignedDifference(Rule):
    """Unsigned integers are subtracted as if the result could be negative.

    ## What it does
    Looks at subtractions and negations of arrays of unsigned integers, such as images of `uint8`, and at what is done
    with the result.

    ## Why is this bad?
    Unsigned integers wrap around: in `uint8` 3 - 5 is 254. `jnp.abs` of it changes nothing, so the distance of two
    images is wrong wherever the first is darker.

    ## Example
        change = jnp.abs(frame - previous)

    ## Use instead
        change = jnp.abs(frame.astype(jnp.int32) - previous.astype(jnp.int32))

    ## When it cannot tell
    A difference that nothing else is known of may be meant to wrap, or never be negative: that is a warning. `1 - x` is
    the other half of a mask, as a rule, and is left open. Random bits and hashes wrap on purpose; a difference of
    `uint32` alone is not judged.
    """

    summary = "A difference of unsigned integers wraps around instead of becoming negative."
    needs = (Ranges, Shapes)

    valid = """
    ## as signed integers
    def change(frame, previous):
        now = jnp.asarray(frame, jnp.uint8).astype(jnp.int32)
        return jnp.abs(now - jnp.asarray(previous, jnp.uint8).astype(jnp.int32))

    ## never below zero
    def inverted(image, key, mask):
        top = jax.random.randint(key, (3,), 0, 2, dtype=jnp.uint8)
        return 255 - jnp.asarray(image, jnp.uint8), 1 - top, 1 - jnp.asarray(mask, jnp.uint8)
    """
    invalid = """
    ## a distance
    def change(frame, previous):
        now, before = jnp.asarray(frame, jnp.uint8), jnp.asarray(previous, jnp.uint8)
        return jnp.abs(now - before)  #!

    ## a plain difference
    def change(frame, previous):
        now, before = jnp.asarray(frame, jnp.uint8), jnp.asarray(previous, jnp.uint8)
        return (now - before).mean()  #?
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every difference of unsigned integers."""
        shapes, ranges = facts.get(Shapes), facts.get(Ranges)
        for op in program.mapping("subtract", "negative"):
            if dtype := _unsigned(op, shapes):
                if op.function == "subtract" and _stays_above(op, ranges):
                    yield proved(op.span, "what is subtracted is never the larger one")
                else:
                    yield _judge(op, dtype, facts.flow.readers.get(op.results[0], ()))


def _stays_above(op: Op, ranges: Ranges) -> bool:
    """Whether the first of two numbers is at least as large as the second, whatever they are."""
    look = ranges.look(op)
    return look.range("x").low >= look.range("y").high


def _unsigned(op: Op, shapes: Shapes) -> str:
    """Return the unsigned dtype that all arrays in an op have; empty where it is another one, or not known."""
    given = [shapes.of(one) for one in op.arguments.values() if isinstance(one, Value)]
    dtypes = {one.dtype or "" for one in given if not one.weak and one.number is None}
    return dtypes.pop() if len(dtypes) == 1 and dtypes <= _UNSIGNED else ""


def _judge(op: Op, dtype: str, readers: Iterable[Op]) -> Obligation:
    user = next(filter(_needs_sign, readers), None)
    if user is None and dtype == "uint32":
        return proved(op.span, "what is made of this difference does not depend on its sign")
    if user is None and op.arguments.get("x") == 1:
        return unknown(op.span, "whether what is taken from 1 is a mask is not known")
    certain, span = user is not None, (user or op).span
    return Obligation(
        span,
        Verdict.VIOLATED if certain else Verdict.UNKNOWN,
        "" if certain else "whether the difference can be negative is not known",
        severity=Severity.ERROR if certain else Severity.WARNING,
        message=f"a difference of `{dtype}` wraps around: it is never negative",
        current=f"3 - 5 is a large positive number in `{dtype}`",
        expected="a difference with its sign",
        steps=(Step(op.span, f"the difference is `{dtype}`"),) if certain else (),
        suggestion="convert to a signed type first: `x.astype(jnp.int32)`",
        cause=op.results,
    )


def _needs_sign(op: Op) -> bool:
    """Whether a function is pointless, or wrong, unless the numbers it is given may be negative."""
    if op.function in ("less", "less_equal", "maximum"):
        return 0 in (op.arguments.get("x"), op.arguments.get("y"))
    return op.arguments.get("y") == 2 if op.function == "power" else op.function in NEEDS_SIGN
