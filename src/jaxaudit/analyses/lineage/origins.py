"""Where a value comes from: back through calls, borders and loops to the op that really made it.

A body that several calls share has one origin for each caller. A *context* says, for such bodies, which call is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.functions import ARRAYS_OF_ITEMS
from jaxaudit.ir.interfaces import Loop, inside_of
from jaxaudit.ir.ops import BODIES, LOOPS, PYTHON_LOOPS
from jaxaudit.ir.record import record

Context = Mapping[int, Op]
"""For the identity of a shared region, the call that is meant."""

Part = tuple[object, ...]
"""A value, and the names of attributes and entries that lead from it to a part of it."""

_STEPS = 64
"""How many ops and calls a value is followed through."""
_CONTEXTS = 12


@record
class Origin:
    """The value that another one is, and how far that holds."""

    value: Value
    op: Op | None
    """What made it; None for a parameter nothing is known of."""
    stacked: tuple[Op, ...] = ()
    """The scans whose steps were stacked on the way, nearest first."""
    context: Context = field(default_factory=dict)
    """The calls that were entered on the way: what to follow the operands of `op` with."""
    name: str = ""
    """The name nearest to where it was made."""


def origin(
    flow: Flow,
    value: Value,
    context: Context,
    *,
    in_turn: bool = False,
    in_element: bool = False,
    each_element: bool = False,
) -> Origin:
    """Follow a value back as far as it is the same value, or all its versions in the steps of a scan.

    With `in_turn` it is not followed out of the turn of a loop: two carries that start alike are two values. With
    `in_element` it is followed into maps that put their elements one after the other, in front. With `each_element` it
    is followed into maps and out of them: for who asks about every element alike.
    """
    calls = dict(context)
    stacked, name = list[Op](), value.name
    crossed: set[tuple[Value, Op]] = set()
    while True:
        name = value.name or name
        maker = flow.own_maker(value)
        op, following = (
            _outside(flow, value, calls, each_element)
            if maker is None
            else (maker, _inside(flow, maker, value, in_element, each_element))
        )
        # A function that calls itself hands the same value on for ever.
        if op is None or following is None or (following, op) in crossed:
            break
        if maker is not None:
            calls.update((id(region), op) for region in op.regions)
            stacked += [op] if op.name == "scan" else [loop] if (loop := _listing(flow, op)) is not None else []
        elif op.name in LOOPS and in_turn:
            break
        crossed.add((following, op))
        value = following
    return Origin(value, flow.own_maker(value), tuple(stacked), calls, value.name or name)


def part_of(flow: Flow, value: Value, context: Context, *, in_turn: bool = False, each_element: bool = False) -> Part:
    """Return a value as the object that it is a part of, and the names that lead from there to it."""
    path: Part = ()
    while True:
        found = origin(flow, value, context, in_turn=in_turn, each_element=each_element)
        value, context, op = found.value, found.context, found.op
        name = None if op is None else op.label if op.name == "py.attr" else op.arguments.get("index")
        if op is None or op.name not in ("py.attr", "py.item") or not isinstance(name, str) or not op.operands:
            return (value, *path)
        value, path = op.operands[0], (name, *path)


def outside_of_call(flow: Flow, param: Value, calls: Context) -> Value | None:
    """Return what a parameter of a function stands for in the call that is meant."""
    op, given = _outside(flow, param, calls)
    return given if op is not None and op.name in BODIES else None


def _outside(flow: Flow, param: Value, calls: Context, each_element: bool = False) -> tuple[Op | None, Value | None]:
    """Return the op around a parameter's region, and what the parameter stands for: in a loop, in the first turn."""
    region = flow.places.owner.get(param)
    op = None if region is None else flow.places.holder.get(id(region)) or calls.get(id(region))
    if region is None or op is None:
        return None, None
    if op.name in LOOPS:
        return op, next((one.start for one in Loop(op).carried_in(region) if one.param is param), None)
    entered = op.name in BODIES or (each_element and op.name == "vmap")
    if not entered or len(region.params) != len(op.operands):
        return op, None
    return op, op.operands[flow.position(region.params, param)]


def _inside(flow: Flow, op: Op, value: Value, in_element: bool, each_element: bool) -> Value | None:
    """Return the value inside a call or a scan that a result of it is, or is made of step by step."""
    if (loop := _listing(flow, op)) is not None:
        return appended(flow, loop, op.operands[0])
    entered = op.name == "vmap" and (each_element or (in_element and op.option("out_axes", 0) == 0))
    if op.name not in BODIES and op.name != "scan" and not entered:
        return None
    position = flow.position(op.results, value)
    if op.name == "scan" and position < (op.carry or 0):
        return None
    return next((one for _, one in inside_of(op, position)), None)


def _listing(flow: Flow, op: Op) -> Op | None:
    """Return the loop of Python that made a list, where an op makes an array of it with one row for each entry."""
    stacks = op.function in ARRAYS_OF_ITEMS or (op.function == "stack" and op.arguments.get("axis", 0) == 0)
    made = flow.maker(op.operands[0]) if stacks and len(op.operands) == 1 else None
    return made if made is not None and made.name in PYTHON_LOOPS else None


def appended(flow: Flow, loop: Op, whole: Value) -> Value | None:
    """Return what each turn of a loop appends to a list."""
    at = flow.position(loop.results, whole)
    given = loop.regions[-1].results[at : at + 1]
    made = flow.maker(given[0]) if given else None
    return made.value("value") if made is not None and made.name == "py.append" else None


def is_differentiated(flow: Flow, value: Value) -> bool:
    """Whether a value is, inside of calls, an argument that a derivative around it is taken with respect to."""
    param: Value | None = value
    while param is not None:
        entry = flow.entered(param)
        if entry is None:
            return False
        op, region = entry
        if op.name == "grad" and op.differentiated and flow.position(region.params, param) in op.differentiated:
            return True
        param = outside_of_call(flow, param, {})
    return False


def contexts(flow: Flow, op: Op) -> Iterator[Context]:
    """Return every way in which control reaches an op through bodies that calls share, within reason.

    Calls further out than a value is followed are left open.
    """
    pending: list[tuple[Region, dict[int, Op]]] = [(flow.places.region_of[op], {})]
    given = 0
    while pending and given < _CONTEXTS:
        region, calls = pending.pop()
        top = flow.places.top(region)
        callers = flow.callers.get(id(top), ())
        if not callers or id(top) in calls or len(calls) == _STEPS:
            given += 1
            yield calls
            continue
        pending.extend((flow.places.region_of[caller], {**calls, id(top): caller}) for caller in callers)


def same(flow: Flow, first: Origin, second: Origin) -> bool:
    """Whether two origins are one value: in a body that calls share, only if the same call is meant."""
    if first.value is not second.value:
        return False
    region = flow.places.region_of_value(first.value)
    top = None if region is None else id(flow.places.top(region))
    return top not in flow.callers or first.context.get(top) is second.context.get(top)
