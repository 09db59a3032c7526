"""What devices send to their neighbours: how far along the axis, and which end of their blocks."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from jaxaudit.analyses.lineage import Flow
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import SUMS_OF_TWO
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts, is_whole


class End(Enum):
    """One end of a block along an axis."""

    FIRST = "the beginning"
    LAST = "the end"


@record
class Edge:
    """What was cut off one end of an array."""

    whole: Value
    axis: int
    end: End


def shift(flow: Flow, op: Op) -> int | None:
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


def edge(flow: Flow, value: Value) -> Edge | None:
    """Return what a value was cut off; None where it is no end of anything."""
    op = flow.maker(value)
    if op is None or op.name != "py.item":
        return None
    base, parts = op.arguments.get("base"), index_parts(op.arguments.get("index"))
    cuts = [(at, _end(flow, one)) for at, one in enumerate(parts) if not is_whole(one)]
    if len(cuts) != 1 or cuts[0][1] is None or not isinstance(base, Value):
        return None
    return Edge(base, cuts[0][0], cuts[0][1])


def _end(flow: Flow, part: Argument) -> End | None:
    """Return the end that one part of an index takes."""
    if not isinstance(part, Mapping) or part.get("step") not in (None, 1):
        return None
    start, stop = part.get("start"), part.get("stop")
    if start in (None, 0) and stop is not None:
        return End.FIRST if not _is_negative(flow, stop) else None
    return End.LAST if stop is None and _is_negative(flow, start) else None


def _is_negative(flow: Flow, number: Argument) -> bool:
    made = flow.maker(number) if isinstance(number, Value) else None
    return (isinstance(number, int) and number < 0) or (made is not None and made.function == "negative")
