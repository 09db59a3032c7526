"""The rule `halo-from-wrong-side`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.neighbours import Edge, End, edge, shift
from jaxaudit.analyses.queries import behind, through_ops, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown

_FOLLOWED = through_ops("array.select", "array.convert", *PASSED_ON)

_PROGRAM = """
def smooth(u, n):
    forward = [(i, (i + 1) % n) for i in range(n)]
    backward = [(i, (i - 1) % n) for i in range(n)]
    before = jax.lax.ppermute({before}
    after = jax.lax.ppermute({after}
    wide = jnp.concatenate([before, u, after])
    return (wide[:-2] + wide[1:-1] + wide[2:]) / 3


run = jax.pmap(smooth, axis_name="x", static_broadcasted_argnums=1)
"""


class HaloFromWrongSide(Rule):
    """What a neighbour sends is joined to the block on a side where it does not belong.

    ## What it does
    Finds every end of a block that `ppermute` sends to a neighbour and that is joined to the same block again. In front
    of a block belongs the end of the one before, which comes from the device before; behind it the beginning of the
    next one.

    ## Why is this bad?
    Cells that are far apart become neighbours. Inside of each block all is right, so the solution looks smooth and is
    wrong from the borders on; on one device with a ring of one the two ends are even exchanged.

    ## Example
        before = jax.lax.ppermute(u[:1], "x", backward)
        wide = jnp.concatenate([before, u, after])

    ## Use instead
        before = jax.lax.ppermute(u[-1:], "x", forward)
        wide = jnp.concatenate([before, u, after])

    ## When it cannot tell
    When the permutation is not one that moves everything by the same number of places, or what is sent is no end of
    the array that it is joined to.
    """

    summary = "What a neighbour sends is joined to the block on a side where it does not belong."

    valid = (
        Example(_PROGRAM.format(before='u[-1:], "x", forward)', after='u[:1], "x", backward)'), "each on its side"),
    )
    invalid = (
        Example(
            _PROGRAM.format(before='u[:1], "x", backward)  #!', after='u[-1:], "x", forward)  #!'),
            "from the other side",
        ),
        Example(_PROGRAM.format(before='u[:1], "x", forward)  #!', after='u[:1], "x", backward)'), "the far end"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every end of a block that is sent to a neighbour and joined to a block."""
        if program.front_end != "source" or next(program.named("collective"), None) is None:
            return
        for op in (one for one in program.named("array.join") if one.function == "concatenate"):
            arrays = op.arguments.get("arrays")
            values = [one for one in arrays if isinstance(one, Value)] if isinstance(arrays, tuple) else []
            yield from _joined(op, values, facts.flow)


def _joined(op: Op, arrays: list[Value], flow: Flow) -> Iterator[Obligation]:
    """Judge every part of a join that came from a neighbour."""
    for at, value in enumerate(arrays):
        received = _received(flow, value)
        cut = None if received is None else edge(flow, received.operands[0])
        if received is None or cut is None or cut.axis != op.arguments.get("axis", 0):
            continue
        if _touches(flow, arrays[at + 1 : at + 2], cut, "start"):
            yield _judged(op, received, cut, shift(flow, received), in_front=True)
        elif _touches(flow, arrays[max(at - 1, 0) : at], cut, "stop"):
            yield _judged(op, received, cut, shift(flow, received), in_front=False)


def _received(flow: Flow, value: Value) -> Op | None:
    """Return the `ppermute` that gave a value, also where the border of the domain gets something else."""
    made = (flow.maker(one) for one in walk((value,), lambda one: behind(flow, one, _FOLLOWED)))
    return next((op for op in made if op is not None and op.name == "collective" and op.function == "ppermute"), None)


def _touches(flow: Flow, beside: list[Value], cut: Edge, bound: str) -> bool:
    """Whether the part beside is the array that an end was cut off, or one that begins or ends where it does."""
    for value in walk(beside, lambda one: behind(flow, one, through_ops(*PASSED_ON))):
        op = flow.maker(value)
        if value is cut.whole:
            return True
        if op is not None and op.name == "py.item" and op.arguments.get("base") is cut.whole:
            part = dict(enumerate(index_parts(op.arguments.get("index")))).get(cut.axis)
            return isinstance(part, Mapping) and part.get(bound) in (None, 0)
    return False


def _judged(op: Op, received: Op, cut: Edge, by: int | None, *, in_front: bool) -> Obligation:
    if by is None or by == 0:
        return unknown(received.span, "which neighbour this comes from is not known")
    fits = (by > 0, cut.end) == ((True, End.LAST) if in_front else (False, End.FIRST))
    if fits:
        return proved(received.span, "what the neighbour sends is joined on the side where it belongs")
    side, belongs = ("in front of", "the end of the previous") if in_front else ("behind", "the beginning of the next")
    sender = "previous" if by > 0 else "next"
    return Obligation(
        received.span,
        message=f"{cut.end.value} of the {sender} block is joined {side} the block; {belongs} one belongs there",
        current=f"a shift by {by:+d} gives each device what the {sender} one has sent",
        expected=f"{side} a block stands what is next to it in the whole array: {belongs} one",
        steps=(Step(op.span, "it is joined to the block here"),),
        suggestion="send the last cells to the next device and the first ones to the device before",
    )
