"""The rule `shifted-along-other-axis`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import readers
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import REST, Argument, Op, Program
from jaxaudit.ir.values import index_parts, is_whole
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown

_PROGRAM = """
def shift_right(tokens, start):
    shifted = jnp.roll(tokens, 1, axis={axis}){mark}
    return shifted.at[:, 0].set(start)
"""


class ShiftedAlongOtherAxis(Rule):
    """An array is rolled along one axis, and the end of another one is filled.

    ## What it does
    `jnp.roll` brings what falls off one end back in at the other, so a shift replaces that end. Where an end of an
    array that was just rolled is set, it has to be an end of the very axis it was rolled along.

    ## Why is this bad?
    Rolled along the batch, each sequence gets its neighbour's tokens, and the first token of each is overwritten
    though nothing has come round to it. The shapes are right, and the model learns from other examples.

    ## Example
        shifted = jnp.roll(tokens, 1, axis=0)  # (batch, time)
        shifted.at[:, 0].set(start)

    ## Use instead
        shifted = jnp.roll(tokens, 1, axis=1)  # (batch, time)
        shifted.at[:, 0].set(start)

    ## When it cannot tell
    When one axis is counted from the front and the other from the back, and the rank is not known. A roll whose ends
    are left alone goes round on purpose, and is not listed.
    """

    summary = "An array is rolled along one axis, and the end of another one is filled."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(axis=1, mark=""), "along time"),
        Example("def gradient(x):\n    return jnp.roll(x, -1, axis=0) - jnp.roll(x, 1, axis=0)\n", "it goes round"),
    )
    invalid = (Example(_PROGRAM.format(axis=0, mark="  #!"), "along the batch"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every end that is set of an array that was rolled."""
        shapes = facts.get(Shapes)
        for op in program.named("array.move"):
            axis = op.argument("axis")
            if op.function == "roll" and isinstance(axis, int):
                fills = (one for one in readers(facts.flow, op.results[0]) if one.function == "set")
                for fill in fills:
                    place = _end(fill.arguments.get("index")) if fill.name == "array.scatter" else None
                    if place is not None:
                        yield _judged(op, axis, fill, place, shapes.of(op.results[0]).rank)


def _end(index: Argument) -> int | None:
    """Return the axis at whose end an index takes everything; from the back where an ellipsis stands before it."""
    parts = index_parts(index)
    ends = [place for place, part in enumerate(parts) if _is_end(part)]
    others = (part for place, part in enumerate(parts) if place not in ends)
    if len(ends) != 1 or not all(part == REST or is_whole(part) for part in others):
        return None
    return ends[0] - len(parts) if REST in parts[: ends[0]] else ends[0]


def _is_end(part: Argument) -> bool:
    if isinstance(part, Mapping):
        start, stop = part.get("start"), part.get("stop")
        first = start in (None, 0) and isinstance(stop, int) and stop > 0
        return first or (isinstance(start, int) and start < 0 and stop is None)
    return isinstance(part, int) and part in (0, -1)


def _judged(op: Op, axis: int, fill: Op, place: int, rank: int | None) -> Obligation:
    if rank is not None:
        axis, place = axis % max(rank, 1), place % max(rank, 1)
    if axis == place:
        return proved(op.span, "the end is filled of the axis that it is rolled along")
    if (axis < 0) is not (place < 0):
        return unknown(op.span, "whether the end that is filled is of the axis it is rolled along is not known")
    return Obligation(
        op.span,
        message=f"this is rolled along axis {axis}, and then the end of axis {place} is filled",
        current=f"what comes round along axis {axis} stays, and good entries of axis {place} are overwritten",
        expected="the end is filled of the axis that is shifted",
        steps=(Step(fill.span, f"the end of axis {place} is filled here"),),
        suggestion=f"roll along `axis={place}`",
    )
