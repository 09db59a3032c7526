"""Indices as the user wrote them, and the ops that count them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import Answers, last
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import COUNTING, SUMS_OF_TWO
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import KEEPING
from jaxaudit.ir.values import leaves_nothing_out


def plain_index(index: Value, flow: Flow) -> Value:
    """Return an index before what JAX does to it: negative ones are counted from the end."""
    return last(index, lambda one: _before(flow.maker(one), flow))


def _before(maker: Op | None, flow: Flow) -> Value | None:
    inner: Argument = None
    if maker is None:
        return None
    if maker.name in KEEPING or (maker.name == "array.join" and len(maker.operands) == 1):
        inner = next(iter(maker.operands), None)
    elif maker.name == "py.item" and leaves_nothing_out(maker.arguments.get("index", 0)):
        inner = maker.arguments.get("base")
    elif maker.name == "array.select" and (maker.api or _counts_from_end(maker, flow)):
        inner = maker.arguments.get("y")
    return inner if isinstance(inner, Value) else None


def _counts_from_end(select: Op, flow: Flow) -> bool:
    """Whether a choice is `where(i < 0, i + size, i)`."""
    condition, kept = select.arguments.get("condition"), select.arguments.get("y")
    test = flow.maker(condition) if isinstance(condition, Value) else None
    return test is not None and test.function == "less" and kept in test.operands and test.arguments.get("y") == 0


@remembered
def counters(facts: Facts) -> Answers[Value, Op | None]:
    """Return for each value the op that counts it up, so that both ends of its range are surely reached."""
    flow = facts.flow
    return Answers(lambda value, ask: _counter(plain_index(value, flow), flow, ask), None)


def _counter(index: Value, flow: Flow, ask: Callable[[Value], Op | None]) -> Op | None:
    maker = flow.maker(index)
    if maker is None:
        return _counting_loop(index, flow)
    if _gives_all(maker) or (maker.name == "py.element" and _counts_all(maker, flow)):
        return maker
    if maker.name != "array.map" or maker.function not in SUMS_OF_TWO | {"multiply"}:
        return None
    found = [ask(one) for one in maker.arguments.values() if isinstance(one, Value)]
    if len(found) == 2 and maker.function == "add":
        # Each of two counters runs through all its values, whatever the other one is.
        return found[0] if None not in found and found[0] is not found[1] else None
    return found[0] if len(found) == 1 else None


def _gives_all(op: Op) -> bool:
    """Whether every number of its range is among the elements of an op, or may be."""
    counts = op.name == "array.create" and op.function in COUNTING
    listed = op.name == "py.const" and op.extent is not None
    return counts or listed or (op.name == "key.draw" and op.function == "randint")


def _counts_all(element: Op, flow: Flow) -> bool:
    """Whether a loop of Python goes through all of a `range`: nothing in it is decided."""
    loop = flow.holder(element)
    if loop is None or not isinstance(element.arguments.get("iterable"), Mapping):
        return False
    return not any(op.name in ("py.test", "py.branch") for op in loop.regions[0].walk())


def _counting_loop(param: Value, flow: Flow) -> Op | None:
    region = flow.places.owner.get(param)
    holder = flow.places.holder.get(id(region)) if region is not None else None
    loop = None if holder is None else Loop.of(holder)
    if loop is None:
        return None
    if loop.op.name == "fori":
        return loop.op if loop.counter is param and loop.op.trips is not None else None
    whole = next((whole for one, whole in loop.elements if one is param and loop.op.name == "scan"), None)
    maker = None if whole is None else flow.maker(whole)
    return maker if maker is not None and maker.name == "array.create" and maker.function in COUNTING else None
