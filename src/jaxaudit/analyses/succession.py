"""What becomes of an old value once its successor was made: whether it is read on, handed on, or stepped again."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import holders, walk
from jaxaudit.analyses.versions import is_plain_copy
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import VIEWS
from jaxaudit.ir.interfaces import Loop, given_as, leaves_as
from jaxaudit.ir.ops import BODIES, INLINE, LOOPS, STORES
from jaxaudit.spans import Span

_PARTS = ("py.attr", "py.item", "py.unpack", "py.element", "tree.leaf")
"""Ops that take something out of what holds it."""


class Way(IntEnum):
    """How an old value goes on."""

    READ = 1
    """Something later reads it."""
    AGAIN = 2
    """The next turn of a loop, or the next call of a method, starts from it again."""
    STORED = 3
    """It is put into a list, a dict or an object."""
    CARRIED = 4
    """The next turn of a loop is given it."""
    RETURNED = 5
    """The function that made the successor gives it back."""


class GoesOn(NamedTuple):
    """One way in which an old value goes on, and the place."""

    way: Way
    at: Span


def goes_on(flow: Flow, old: Value, made: Op, *, method: bool = False) -> list[GoesOn]:
    """Return how a value goes on after an op that made its successor, in the order of the program.

    In a method, an attribute of its object that it does not set is there for the next call.
    """
    # One expression may become several ops.
    later = [op for op in flow.readers.get(old, ()) if op.span != made.span and _is_after(flow, op, made)]
    found = [GoesOn(_way(flow, op, old), op.span) for op in sorted(later, key=flow.places.order.__getitem__)]
    if (loop := own_loop(flow, made)) is not None and (old, old) in loop.successors:
        found.append(GoesOn(Way.CARRIED, made.span))
    again = _is_same_in_turns(flow, old, made) or (method and _is_kept(flow, old, flow.places.region_of[made]))
    return [*found, GoesOn(Way.AGAIN, made.span)] if again else found


def handed_on_within(flow: Flow, old: Value, made: Op) -> list[GoesOn]:
    """Return how a value is handed on in what it was taken out of, after an op that made its successor.

    What something is put into, or set in, is no longer as it was; a copy keeps the parts that it is not given anew.
    """
    around = list(walk((old,), lambda one: _taken_from(flow, one)))[1:]
    around += [op.result for one in (old, *around) for op in _keeping(flow, one)]
    stores = {one: [op for op in flow.readers.get(one, ()) if op.name in STORES] for one in around}
    whole = [one for one in around if all(_is_put(op, one) for op in stores[one])]
    ways = [way for one in whole for way in goes_on(flow, one, made)]
    return [one for one in ways if one.way in (Way.RETURNED, Way.CARRIED, Way.STORED)]


def _keeping(flow: Flow, part: Value) -> Iterator[Op]:
    """Return the copies of what a part was taken out of that leave the part as it is."""
    taken = flow.own_maker(part)
    if taken is not None and taken.name == "py.attr" and taken.base is not None:
        copies = (op for op in flow.readers.get(taken.base, ()) if is_plain_copy(op) and op.operands[0] is taken.base)
        yield from (op for op in copies if taken.label not in (op.named or {}))


def _is_put(op: Op, value: Value) -> bool:
    """Whether it is this value that an op stores, and not what it stores something in."""
    return value in values_in(op.argument("value"))


def _taken_from(flow: Flow, value: Value) -> Iterator[Value]:
    """Return what a value is a part or an element of, also under the name that a call gives it by."""
    op = flow.own_maker(value)
    if op is None:
        given = flow.passed(value)
        yield from () if given is None else (given,)
    elif op.name in _PARTS or (op.name == "py.call_library" and op.function in VIEWS):
        whole = op.value("base", "iterable", "tree")
        yield from op.operands[:1] if whole is None else (whole,)


def _way(flow: Flow, op: Op, old: Value) -> Way:
    """Return how an op that reads a value lets it go on: of what the body of a loop returns, the carry alone counts."""
    if op.name != "py.return":
        return Way.STORED if op.name in STORES and _is_put(op, old) else Way.READ
    holder = flow.holder(op)
    loop = None if holder is None else Loop.of(holder)
    if loop is None:
        return Way.CARRIED if _comes_round(flow, old, flow.places.function_of(op)) else Way.RETURNED
    given = [following for _, following in loop.successors]
    makers = (flow.maker(one) for one in given)
    is_open = any(made is not None and made.name == "py.unknown" for made in makers)
    return Way.CARRIED if is_open or old in given else Way.READ


def _comes_round(flow: Flow, param: Value, region: Region) -> bool:
    """Whether a function gives back what it was given, and all callers hand that to the next turn of a loop."""
    around = holders(flow, region) if param in region.params else ()
    return bool(around) and all(op.name in BODIES and _is_carried_on(flow, op, region, param) for op in around)


def _is_carried_on(flow: Flow, op: Op, region: Region, param: Value) -> bool:
    loop, given, out = own_loop(flow, op), set(given_as(op, region, param)), set(leaves_as(op, region, param))
    if loop is not None:
        return any(one in given and following in out for one, following in loop.successors)
    outer = flow.places.function_of(op)
    return any(one in outer.results for one in out) and any(_comes_round(flow, one, outer) for one in given)


def _is_after(flow: Flow, op: Op, made: Op) -> bool:
    """Whether an op reads numbers, and can still run after another one in the same turn."""
    places = flow.places
    if op.name == "array.shape" or any(places.within(places.region_of[op], region) for region in made.regions):
        return False
    return places.comes_before(made, op) and places.both_happen(made, op)


def own_loop(flow: Flow, op: Op) -> Loop | None:
    """Return the innermost loop whose turns run an op, in the function that the op stands in or around it."""
    for _, holder in flow.places.up(flow.places.region_of[op]):
        if holder is not None and holder.name not in INLINE | LOOPS:
            return None
        if holder is not None and (loop := Loop.of(holder)) is not None:
            return loop
    return None


def _is_same_in_turns(flow: Flow, old: Value, op: Op) -> bool:
    """Whether every turn of a loop around an op reads the same value, however many calls away from the op it is."""
    places = flow.places
    for region, holder in places.up(places.region_of[op]):
        if old in region.params and (holder is None or holder.name not in LOOPS):
            calls = holders(flow, region)
            given = [(one, call) for call in calls for one in given_as(call, region, old)]
            return len(given) == len(calls) > 0 and all(_is_same_in_turns(flow, one, call) for one, call in given)
        loop = None if holder is None else Loop.of(holder)
        if loop is not None and (old, old) in loop.successors and loop != own_loop(flow, op):
            return True
        if loop is not None and not places.within(places.region_of_value(old), loop.body):
            return True
    return False


def _is_kept(flow: Flow, old: Value, region: Region) -> bool:
    """Whether a value is an attribute of the first parameter, which the function does not set."""
    op = flow.maker(old)
    base = op.value("base") if op is not None and op.name == "py.attr" else None
    top = flow.places.top(region)
    if op is None or base is None or base not in top.params[:1]:
        return False
    return not any(one.name == "py.store_attr" and one.label == op.label for one in top.walk())
