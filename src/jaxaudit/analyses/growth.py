"""What is larger in every turn of a loop: what is joined to itself, and mappings that get new keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import behind, nothing, sources, through_ops, walk
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import JOINS_END_TO_END, LENGTHENING, NOT_BROADCASTING, SIZES
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import KEEPING
from jaxaudit.ir.values import leaves_nothing_out
from jaxaudit.libraries.lookup import kind_of

_AS_LONG = KEEPING | {"array.map", "array.create", "array.join", "py.container"}
"""Ops whose result is longer where an operand is."""
_COMPUTED = ("array.", "py.random", "py.clock", "py.to_python", "key.")
"""Ops that give other numbers in other turns, where what they are given differs."""

_COMPARING = through_ops("array.map", "py.operator", "py.join")

_Version = tuple[Value, bool]
"""A value, and whether what follows it in the turn is longer."""


def grown(loop: Loop, flow: Flow) -> set[Value]:
    """Return the values that a loop carries and makes longer in every turn, before and after they got longer."""
    found = set[Value]()
    for (param, initial, _), result in zip(loop.carried, loop.body.results, strict=False):
        way = {} if result is param else _way(param, initial, result, loop, flow)
        # What is put in beside it is no version of it.
        found.update(one for one in way if way.get(param) and param in _way(param, initial, one, loop, flow))
    return found


def _way(param: Value, initial: Value, result: Value, loop: Loop, flow: Flow) -> dict[Value, bool]:
    """Return the versions of a carried value in a turn, and whether a longer one follows."""
    return dict(walk([(result, False)], lambda one: _earlier(one, param, initial, loop, flow)))


def _earlier(version: _Version, param: Value, initial: Value, loop: Loop, flow: Flow) -> Iterator[_Version]:
    """Return what a version of a carried value was before, in the same turn."""
    value, longer = version
    op = flow.maker(value)
    if value is param:
        return
    if op is None or op.regions:
        if op is not None and op.name == "py.branch" and _asks_for_size(op, flow):
            return
        yield from ((one, longer) for one in behind(flow, value, nothing))
    elif op.name == "py.container" and len(op.operands) == 1:
        yield op.operands[0], longer
    else:
        yield from ((one, True) for one in _lengthened(op, initial, loop, flow))


def _asks_for_size(branch: Op, flow: Flow) -> bool:
    """Whether a branch depends on how long something is: then that may be what bounds it."""
    makers = (flow.maker(one) for one in sources(flow, branch.operands[:1], _COMPARING))
    return any(op is not None and op.function in SIZES for op in makers)


def _lengthened(op: Op, initial: Value, loop: Loop, flow: Flow) -> Iterable[Value]:
    """Return the lists, arrays and mappings that the result of an op is a longer version of."""
    match op.name:
        case "py.append" if op.method in LENGTHENING:
            return values_in(op.argument("list"))
        case "py.append" if op.method == "update" and _has_new_key(op.arguments.get("value"), loop, flow):
            return values_in(op.argument("list"))
        case "py.set_item" if op.kind == "dict" and _is_new(op.arguments.get("index"), loop, flow):
            return values_in(op.arguments.get("base"))
        case "py.container" if op.kind == "dict" and _has_new_key(op.result, loop, flow):
            return op.operands
        case "array.join" | "array.numpy" if op.function in JOINS_END_TO_END:
            return op.operands
        case "array.map" if op.function in ("add", "bitwise_or") and _is_container(initial, flow):
            added = [part for part in op.arguments.values() if _is_added(part, op.function, loop, flow)]
            return op.operands if added else ()
        case _:
            return ()


def _is_container(initial: Value, flow: Flow) -> bool:
    made = origin(flow, initial, {}).op
    return made is not None and made.name == "py.container"


def _is_added(part: Argument, function: str, loop: Loop, flow: Flow) -> bool:
    """Whether one side of `tuple + tuple` or `dict | dict` adds something to the other."""
    if function == "bitwise_or":
        return _has_new_key(part, loop, flow)
    made = flow.maker(part) if isinstance(part, Value) else None
    return (bool(part) and isinstance(part, tuple)) or (made is not None and made.name == "py.container")


def _has_new_key(mapping: Argument, loop: Loop, flow: Flow) -> bool:
    """Whether a dict that is written down has a key that differs from turn to turn."""
    if isinstance(mapping, Mapping):
        return False
    made = flow.maker(mapping) if isinstance(mapping, Value) else None
    while made is not None and made.name == "py.container" and len(made.operands) == 1:
        made = flow.maker(made.operands[0])
    if made is None or made.name != "py.container":
        return False
    return any(_is_text(one, flow) and _is_new(one, loop, flow) for one in made.operands)


def _is_text(value: Value, flow: Flow) -> bool:
    op = flow.maker(value)
    return op is not None and op.operator == "text"


def _is_new(key: Argument, loop: Loop, flow: Flow) -> bool:
    """Whether a key is the number of the turn or computed from its numbers, and not one of a collection of names."""
    count = loop.body.params[0]
    for value in walk(list(values_in(key)), lambda one: _key_parts(one, flow)):
        op = flow.maker(value)
        if value is count or (op is not None and op.name.startswith(_COMPUTED) and _is_inside(op, loop, flow)):
            return True
    return False


def _key_parts(value: Value, flow: Flow) -> Iterable[Value]:
    op = flow.maker(value)
    if op is not None and op.name == "py.element":
        counts = not isinstance(op.arguments.get("iterable"), Value)
        return values_in(op.arguments.get("index")) if counts else ()
    if op is not None and op.operator == "text":
        return [one for one in op.values or () if isinstance(one, Value)]
    return behind(flow, value, lambda one: not one.name.startswith(_COMPUTED))


def _is_inside(op: Op, loop: Loop, flow: Flow) -> bool:
    return flow.places.within(flow.places.region_of[op], loop.body)


def is_longer(value: Value, found: set[Value], flow: Flow) -> bool:
    """Whether a value is longer in every turn, because it is made of something that is."""

    def made_of(one: Value) -> tuple[Value, ...]:
        made = origin(flow, one, {}, in_turn=True)
        if made.value is not one:
            return (made.value,)
        op = made.op
        if op is None:
            return ()
        if op.name == "py.item" and not leaves_nothing_out(op.arguments.get("index", 0)):
            # An array of places picks as many elements as it has.
            return tuple(values_in(op.arguments["index"]))
        as_long = kind_of(op) in _AS_LONG and op.function not in NOT_BROADCASTING
        return op.operands if as_long or op.name == "py.item" else ()

    return any(one in found for one in walk((value,), made_of))
