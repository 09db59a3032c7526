"""The rule `halo-from-wrong-side`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from jaxaudit.analyses.axes.normalised import plain
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, through_ops, walk
from jaxaudit.ir import REST, Argument, Op, Program, Value
from jaxaudit.ir.functions import SUMS_OF_TWO
from jaxaudit.ir.ops import KEEPING
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts, is_whole, leaves_nothing_out
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown

_KEPT = through_ops("array.select", *KEEPING)
_PADDED = through_ops("array.move", "array.scatter")

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

_FILLED = """
def smooth(u, n):
    before = jax.lax.ppermute(u[-1], "x", [({source}, {target}) for i in range(n)]){mark}
    wide = jnp.pad(u, 1).at[0].set(before)
    return wide[:-2] + jnp.concatenate([before[None], u]).sum()


run = jax.pmap(smooth, axis_name="x", static_broadcasted_argnums=1)
"""


class HaloFromWrongSide(Rule):
    """What a neighbour sends is joined to the block on a side where it does not belong.

    ## What it does
    Finds every end of a block that `ppermute` sends to a neighbour and that is joined to the same block again, or
    written to an end of the padded block. In front of a block belongs the end of the one before, which comes from the
    device before; behind it the beginning of the next one.

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
        Example(_FILLED.format(source="i", target="(i + 1) % n", mark=""), "written to the padded block"),
    )
    invalid = (
        Example(
            _PROGRAM.format(before='u[:1], "x", backward)  #!', after='u[-1:], "x", forward)  #!'),
            "from the other side",
        ),
        Example(_PROGRAM.format(before='u[:1], "x", forward)  #!', after='u[:1], "x", backward)'), "the far end"),
        Example(_FILLED.format(source="(i + 1) % n", target="i", mark="  #!"), "source and target exchanged"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every end of a block that is sent to a neighbour and joined to a block."""
        if program.front_end != "source" or next(program.named("collective"), None) is None:
            return
        for op in (one for one in program.named("array.join") if one.function == "concatenate"):
            arrays = op.arguments.get("arrays")
            values = [one for one in arrays if isinstance(one, Value)] if isinstance(arrays, tuple) else []
            yield from _joined(op, values, facts.flow)
        for op in (one for one in program.named("array.scatter") if one.function == "set"):
            yield from _filled(op, facts.flow)


def _filled(op: Op, flow: Flow) -> Iterator[Obligation]:
    """Judge what came from a neighbour and is written to an end of a block that was made longer."""
    base, value = op.value("base"), op.value("value")
    received = None if value is None else _received(flow, value)
    cut = None if received is None else _edge(flow, received.operands[0])
    parts = index_parts(op.arguments.get("index"))
    ends = [(at, _end(flow, one)) for at, one in enumerate(parts) if one != REST and not is_whole(one)]
    if received is None or cut is None or base is None or len(ends) != 1 or ends[0][1] is None:
        return
    if cut.axis == _counted(parts, ends[0][0]) and _is_padded(base, cut.whole, flow):
        yield _judged(op, received, cut, flow, in_front=ends[0][1] is _End.FIRST)


def _is_padded(value: Value, whole: Value, flow: Flow) -> bool:
    """Whether an array is some other one, made longer and written to."""
    return any(plain(one, flow) is whole for one in walk((value,), lambda one: behind(flow, one, _PADDED)))


def _joined(op: Op, arrays: list[Value], flow: Flow) -> Iterator[Obligation]:
    """Judge every part of a join that came from a neighbour."""
    for at, value in enumerate(arrays):
        received = _received(flow, value)
        cut = None if received is None else _edge(flow, received.operands[0])
        if received is None or cut is None or cut.axis != op.arguments.get("axis", 0):
            continue
        if _touches(flow, arrays[at + 1 : at + 2], cut, "start"):
            yield _judged(op, received, cut, flow, in_front=True)
        elif _touches(flow, arrays[max(at - 1, 0) : at], cut, "stop"):
            yield _judged(op, received, cut, flow, in_front=False)


def _same(op: Op) -> bool:
    """Whether an op gives all elements of what it is given, perhaps with an axis more."""
    return _KEPT(op) or (op.name == "py.item" and leaves_nothing_out(op.arguments.get("index")))


def _received(flow: Flow, value: Value) -> Op | None:
    """Return the `ppermute` that gave a value, also where the border of the domain gets something else."""
    made = (flow.maker(one) for one in walk((value,), lambda one: behind(flow, one, _same)))
    return next((op for op in made if op is not None and op.name == "collective" and op.function == "ppermute"), None)


def _touches(flow: Flow, beside: list[Value], cut: _Edge, bound: str) -> bool:
    """Whether the part beside is the array that an end was cut off, or one that begins or ends where it does."""
    for value in walk(beside, lambda one: behind(flow, one, _KEPT)):
        op, base = flow.maker(value), None
        if plain(value, flow) is cut.whole:
            return True
        if op is not None and op.name == "py.item":
            base = op.value("base")
        if op is not None and base is not None and plain(base, flow) is cut.whole:
            part = dict(enumerate(index_parts(op.arguments.get("index")))).get(cut.axis)
            return isinstance(part, Mapping) and part.get(bound) in (None, 0)
    return False


def _judged(op: Op, received: Op, cut: _Edge, flow: Flow, *, in_front: bool) -> Obligation:
    by = _shift(flow, received)
    if by is None or by == 0:
        return unknown(received.span, "which neighbour this comes from is not known")
    fits = (by > 0, cut.end) == ((True, _End.LAST) if in_front else (False, _End.FIRST))
    if fits:
        return proved(received.span, "what the neighbour sends is joined on the side where it belongs")
    side, belongs = ("in front of", "the end of the previous") if in_front else ("behind", "the beginning of the next")
    sender = "previous" if by > 0 else "next"
    return Obligation(
        received.span,
        message=f"{cut.end.value} of the {sender} block is joined {side} the block; {belongs} one belongs there",
        current=f"a shift by {by:+d} gives each device what the {sender} one has sent",
        expected=f"{side} a block stands what is next to it in the whole array: {belongs} one",
        steps=(Step(op.span, "it is joined to the block here"), *_sent_by(received, flow)),
        suggestion="send the last cells to the next device and the first ones to the device before",
    )


def _sent_by(received: Op, flow: Flow) -> Iterator[Step]:
    """Return where the pairs of senders and receivers were written down."""
    perm = received.arguments.get("perm")
    made = flow.maker(perm) if isinstance(perm, Value) else None
    pairs = flow.maker(made.operands[0]) if made is not None and made.operands else None
    if pairs is not None and pairs.span != received.span:
        yield Step(pairs.span, "who sends to whom is said here: the sender comes first")


class _End(Enum):
    """One end of a block along an axis."""

    FIRST = "the beginning"
    LAST = "the end"


@record
class _Edge:
    """What was cut off one end of an array."""

    whole: Value
    axis: int
    end: _End


def _shift(flow: Flow, op: Op) -> int | None:
    """Return by how many places `ppermute` sends what each device has; None where that is not known."""
    perm = op.arguments.get("perm")
    if isinstance(perm, tuple):
        return _written(perm)
    made = flow.maker(perm) if isinstance(perm, Value) else None
    pair = made.operands if made is not None and made.name == "py.container" else ()
    loop = flow.maker(pair[0]) if len(pair) == 2 else None
    if loop is None or loop.name != "py.loop" or flow.maker(pair[1]) is not loop or len(loop.results) != 2:
        return None
    ends = [loop.regions[-1].results[loop.results.index(one)] for one in pair]
    source, target = (_offset(flow, one, ()) for one in ends)
    return None if source is None or target is None or source[0] is not target[0] else target[1] - source[1]


def _written(perm: tuple[Argument, ...]) -> int | None:
    """Return the places by which a list of pairs moves: the same for all but those that go round."""
    pairs = [one for one in perm if isinstance(one, tuple) and len(one) == 2 and all(isinstance(n, int) for n in one)]
    steps = {target - source for source, target in pairs if isinstance(source, int) and isinstance(target, int)}
    near = {step for step in steps if abs(step) == 1}
    return near.pop() if len(pairs) == len(perm) > 2 and len(near) == 1 else None


def _offset(flow: Flow, value: Value, around: tuple[Argument, ...]) -> tuple[Op, int] | None:
    """Return the element that a number counts from and what is added to it, where it goes round at some size."""
    op = flow.maker(value)
    if op is None or op.name == "py.element":
        return None if op is None else (op, 0)
    left, right = (op.arguments.get(name) for name in ("x", "y"))
    if op.function == "remainder" and isinstance(left, Value):
        return _offset(flow, left, (*around, right))
    if op.function not in SUMS_OF_TWO:
        return None
    if not isinstance(left, Value) or (left in around and isinstance(right, Value)):
        left, right = (right, left) if op.function == "add" else (left, right)
    if not isinstance(left, Value):
        return None
    found = _offset(flow, left, around)
    if found is None or right in around:
        # Once round is no step at all.
        return found
    sign = 1 if op.function == "add" else -1
    return (found[0], found[1] + sign * right) if isinstance(right, int) else None


def _edge(flow: Flow, value: Value) -> _Edge | None:
    """Return what a value was cut off; None where it is no end of anything."""
    op = flow.maker(value)
    if op is None or op.name != "py.item":
        return None
    base, parts = op.arguments.get("base"), index_parts(op.arguments.get("index"))
    cuts = [(at, _end(flow, one)) for at, one in enumerate(parts) if one != REST and not is_whole(one)]
    if len(cuts) != 1 or cuts[0][1] is None or not isinstance(base, Value):
        return None
    return _Edge(plain(base, flow), _counted(parts, cuts[0][0]), cuts[0][1])


def _counted(parts: tuple[Argument, ...], at: int) -> int:
    """Return the axis of a part of an index, from the back where an ellipsis stands before it."""
    return at - len(parts) if REST in parts[:at] else at


def _end(flow: Flow, part: Argument) -> _End | None:
    """Return the end that one part of an index takes."""
    if isinstance(part, int) and not isinstance(part, bool):
        return {0: _End.FIRST, -1: _End.LAST}.get(part)
    if not isinstance(part, Mapping) or part.get("step") not in (None, 1):
        return None
    start, stop = part.get("start"), part.get("stop")
    if start in (None, 0) and stop is not None:
        return _End.FIRST if not _is_negative(flow, stop) else None
    return _End.LAST if stop is None and _is_negative(flow, start) else None


def _is_negative(flow: Flow, number: Argument) -> bool:
    made = flow.maker(number) if isinstance(number, Value) else None
    return (isinstance(number, int) and number < 0) or (made is not None and made.function == "negative")
