"""Where along the steps the start of a recursion lies: before the first of them, or behind the last.

A smoother starts from the last state of the filter, a backward pass from the cost of the last state. What is taken from
the end of the data, or meets what another loop leaves after the same steps, lies there; a recursion that starts from it
runs backwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from functools import partial

from jaxaudit.analyses.lineage.courses import Course
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.recursions import courses
from jaxaudit.analyses.queries import ahead, behind, depends, through_ops, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import FILLED_LIKE
from jaxaudit.ir.interfaces import Loop, Turn
from jaxaudit.ir.ops import ELEMENTWISE, KEEPING
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts


@record
class Started:
    """A recursion over steps of which it is known on which side of them its start lies."""

    op: Op
    start: Value
    by: Op
    """What tells where the start lies: it takes the last element, or puts the start beside what is left at the end."""
    behind: bool
    """Whether the start lies behind the last step."""
    backwards: bool
    sure: bool
    """Whether the step that the start is taken from is left out of the steps, or the start is needed at their end."""


def started(program: Program, flow: Flow) -> Iterator[Started]:
    """Find every recursion whose start lies on a side of the steps that is known."""
    scans = [found for found, _ in courses(program, flow) if found.op.name == "scan" and found.backwards is not None]
    through: defaultdict[Value, set[Op]] = defaultdict(set)
    for found in scans:
        for array in _seen(flow, found):
            through[array].add(found.op)
    for found in scans:
        elements = list(found.elements)
        for one, end in found.successors:
            if depends(flow, end, (one.param,)) and depends(flow, end, elements):
                yield from _taken_from_steps(found, one.start, flow)
                yield from _left_by_steps(found, one.start, scans, flow)
                stacked = [outside for _, outside in Loop(found.op).stacked]
                near = set().union(*(through.get(outside, ()) for outside in stacked)) - {found.op}
                others = [other for other in scans if other.op in near] if near else []
                yield from _needed_at_end(found, one.start, others, flow)


def _taken_from_steps(found: Course, start: Value, flow: Flow) -> Iterator[Started]:
    """Find out whether a start is computed from the first or the last element of what is scanned."""
    steps = set().union(*(_axis(flow, array) for _, array in Loop(found.op).elements))
    taken = [op for value in walk((start,), partial(_numbers, flow)) if (op := flow.maker(value)) and _side(op)]
    sides = {_side(op): op for op in taken if not steps.isdisjoint(_axis(flow, op.operands[0]))}
    if len(sides) != 1:
        return
    side, op = sides.popitem()
    left_out = _whole(flow, op.operands[0]) & {base for base, at in _cut(found.op, flow) if at == side}
    # What is made of the first element may be the start of both ways through a series.
    if left_out or side == "last" or not found.backwards:
        yield Started(found.op, start, op, side == "last", found.backwards is True, bool(left_out))


def _left_by_steps(found: Course, start: Value, scans: list[Course], flow: Flow) -> Iterator[Started]:
    """Find out whether a start is computed from what the loop that made the steps has left after them.

    That a second layer starts with the state of the first is common: it is told only of steps without the last one, and
    of what a derivative is started with.
    """
    made = {value for _, array in Loop(found.op).elements for value in _whole(flow, array)}
    left = set(walk((start,), partial(_numbers, flow)))
    makers = {flow.maker(value) for value in made}
    for other in scans:
        count = len(other.carried)
        if (
            other.op not in makers
            or made.isdisjoint(other.op.results[count:])
            or left.isdisjoint(other.op.results[:count])
        ):
            continue
        side = "first" if other.backwards else "last"
        sure = any(base in other.op.results[count:] and at == side for base, at in _cut(found.op, flow))
        before = (flow.maker(value) for value in left)
        if sure or any(op is not None and op.name in ("grad", "vjp") for op in before):
            yield Started(found.op, start, other.op, side == "last", found.backwards is True, sure)


def _needed_at_end(found: Course, start: Value, others: list[Course], flow: Flow) -> Iterator[Started]:
    """Find out whether a start meets what another loop over the same steps leaves at its end.

    These loops go over the results as well.
    """
    held, own = _whole(flow, start), _seen(flow, found)
    for other in others:
        starts = set().union(*(_whole(flow, one.start) for one in other.carried))
        if other.backwards or own.isdisjoint(_seen(flow, other)) or held & starts:
            continue
        ends = set(other.op.results[: len(other.carried)])
        for value in walk(held, lambda one: ahead(flow, one, through_ops(*KEEPING))):
            for op in flow.readers.get(value, ()):
                meets = op.name in ("array.map", "array.dot")
                beside = [one for one in op.operands if one is not value] if meets else []
                if any(ends & set(walk((one,), partial(_elementwise, flow))) for one in beside):
                    yield Started(found.op, start, op, behind=True, backwards=found.backwards is True, sure=True)
                    return


def _seen(flow: Flow, course: Course) -> Set[Value]:
    """Return what the arrays that a loop goes through are stretches of."""
    known = flow.table(_seen)
    if course.op not in known:
        known[course.op] = set().union(*(_whole(flow, array) for _, array in Loop(course.op).elements))
    return known[course.op]


def _numbers(flow: Flow, value: Value) -> Iterator[Value]:
    """Return what the numbers of a value are computed from, up to a single element of an array."""
    op = flow.maker(value)
    if op is None or not (_side(op) or op.name in ("array.create", "array.shape") or op.function in FILLED_LIKE):
        yield from behind(flow, value)


def _elementwise(flow: Flow, value: Value) -> Iterator[Value]:
    yield from behind(flow, value, through_ops(*KEEPING, *ELEMENTWISE))


def _side(op: Op) -> str:
    """Return which element of an array along its first axis an op takes: `first`, `last`, or another one."""
    parts = index_parts(op.arguments.get("index")) if op.name == "py.item" and op.operands else ()
    place = parts[0] if parts else None
    return {0: "first", -1: "last"}.get(place, "") if isinstance(place, int) and not isinstance(place, bool) else ""


def _cut(op: Op, flow: Flow) -> Iterator[tuple[Value, str]]:
    """Return the arrays of which a loop is given all steps but one, and which one is left out."""
    for _, array in Loop(op).elements:
        for value in walk((array,), lambda one: behind(flow, one, lambda step: Turn.of(step) is not None)):
            made = flow.maker(value)
            side = "" if made is None or made.name != "py.item" else _left_out(made)
            if made is not None and side:
                yield from ((base, side) for base in _whole(flow, made.operands[0]))


def _left_out(op: Op) -> str:
    """Return which one is missing in what `x[:-1]` or `x[1:]` takes."""
    parts = index_parts(op.arguments.get("index"))
    bounds = parts[0] if parts and isinstance(parts[0], Mapping) else {}
    first, stop = bounds.get("start"), bounds.get("stop")
    if bounds.get("step") is not None:
        return ""
    return "last" if first in (None, 0) and stop == -1 else "first" if first == 1 and stop is None else ""


def _is_part(op: Op) -> bool:
    """Whether an op gives a stretch of the first axis of an array, or all of it."""
    if op.name != "py.item":
        return op.name in ("array.convert", "grad.stop", "device.place")
    parts = index_parts(op.arguments.get("index"))
    return bool(parts) and isinstance(parts[0], Mapping)


def _whole(flow: Flow, value: Value) -> set[Value]:
    """Return what an array is a stretch of, under every name."""
    return set(walk((value,), lambda one: behind(flow, one, _is_part)))


def _axis(flow: Flow, array: Value) -> set[Value]:
    """Return arrays that have a first axis with an array: those it is a stretch of, and those its loop went through."""

    def step(value: Value) -> Iterator[Value]:
        yield from behind(flow, value, _is_part)
        op = flow.maker(value)
        if op is not None and op.name == "scan" and flow.position(op.results, value) >= (op.carry or 0):
            yield from (whole for _, whole in Loop(op).stacked)
            yield from (whole for _, whole in Loop(op).elements)

    return set(walk((array,), step))
