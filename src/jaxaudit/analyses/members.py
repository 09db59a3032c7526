"""For how many models a tree of parameters holds them: which axes its leaves have gained since `init` made it.

`init` makes the parameters of one model. Under a `vmap`, or stacked with others, every leaf gains an axis of members; a
map over that very axis, or an index, takes it away. A module reads the parameters of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import Answers, holders
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.mapped import axes_of
from jaxaudit.ir import Argument, Op, Region, Value
from jaxaudit.ir.interfaces import Loop, leaves_as, made_inside, source_of
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import plays


@record
class Members:
    """What is known of one tree of parameters."""

    init: Op
    """What made the parameters of one model."""
    axes: tuple[tuple[int, Op], ...] = ()
    """The axes that each leaf has gained, in front or where they were put, and what put them there."""
    astray: Op | None = None
    """A map that took another axis than one of members: from then on each leaf is a slice of what it was."""
    had: tuple[tuple[int, Op], ...] = ()
    """Where a map went astray: the axes of members that it had before."""

    @property
    def is_one(self) -> bool:
        """Whether these are the parameters of one model."""
        return not self.axes and self.astray is None


Known = frozenset[Members | None]
"""What a value may be, whichever way it came; None for what is not known."""

_UNKNOWN: Known = frozenset((None,))
_HANDED_ON = PASSED_ON | {"py.container", "py.element", "py.unpack", "py.attr"}


@remembered
def members(facts: Facts) -> Answers[Value, Known]:
    """Answer for how many models a value holds parameters."""
    flow = facts.flow

    def rule(value: Value, ask: Callable[[Value], Known]) -> Known:
        op = flow.own_maker(value)
        if op is None:
            return _entered(flow, value, ask)
        return _left(op, value, ask) if op.regions else _made(facts, op, ask)

    return Answers(rule, frozenset())


def _all(values: Iterable[Value], ask: Callable[[Value], Known]) -> Known:
    return frozenset().union(*map(ask, values))


def _entered(flow: Flow, param: Value, ask: Callable[[Value], Known]) -> Known:
    """Return what a parameter of a region is given."""
    region = flow.places.owner.get(param)
    around = () if region is None else holders(flow, region)
    found: Known = frozenset() if around else _UNKNOWN
    for op in around:
        given = _all(source_of(op, region, param), ask) if region is not None else _UNKNOWN
        axis = _taken(op, region, param) if region is not None else None
        found |= given if axis is None else frozenset(_without(one, axis, op) for one in given)
    return found


def _taken(op: Op, region: Region, param: Value) -> int | str | None:
    """Return along which axis of its operand a parameter is one element; None where it is all of it."""
    if op.name in ("vmap", "pmap"):
        axes = axes_of(op)
        at = region.params.index(param)
        axis = axes[at] if at < len(axes) else "?"
        return axis if axis is None or isinstance(axis, int) else "?"
    loop = Loop.of(op) if op.name == "scan" else None
    return 0 if op.name == "map" or (loop is not None and any(param is one for one, _ in loop.elements)) else None


def _without(one: Members | None, axis: int | str, op: Op) -> Members | None:
    """Return what is left of a tree of which a map takes one axis of every leaf."""
    if one is None or one.astray is not None or isinstance(axis, str):
        return None if isinstance(axis, str) else one
    places = [place for place, _ in one.axes]
    if axis in places:
        at = places.index(axis)
        kept = (*one.axes[:at], *one.axes[at + 1 :])
        return Members(one.init, tuple((place - (0 <= axis < place), by) for place, by in kept))
    if any((place < 0) is not (axis < 0) for place in places):
        return None
    return Members(one.init, (), op, one.axes)


def _with(one: Members | None, axis: object, op: Op) -> Members | None:
    """Return a tree whose leaves have gained an axis."""
    if one is None or not isinstance(axis, int) or (one.axes and axis < 0) or any(place < 0 for place, _ in one.axes):
        return None
    if one.astray is not None:
        return one
    return Members(one.init, ((axis, op), *((place + (place >= axis), by) for place, by in one.axes)))


def _left(op: Op, value: Value, ask: Callable[[Value], Known]) -> Known:
    """Return what a result of an op is inside of its regions, with the axis that the op collects it along."""
    if op.name == "grad":
        places = op.differentiated or ()
        at = op.results.index(value) - (len(op.results) - len(places))
        return ask(op.operands[places[at]]) if 0 <= at < len(places) and isinstance(places[at], int) else _UNKNOWN
    found: Known = frozenset()
    for region in op.regions:
        for inner in made_inside(op, region, value):
            axis = _collected(op, region, inner, value)
            found |= ask(inner) if axis is None else frozenset(_with(one, axis, op) for one in ask(inner))
    return found


def _collected(op: Op, region: Region, inner: Value, value: Value) -> object:
    """Return the axis along which what a region gives is collected; None where it is handed on as it is."""
    if op.name in ("vmap", "pmap"):
        given = op.out_axes or (op.option("out_axes", 0),) * len(op.results)
        return given[op.results.index(value)] if len(given) == len(op.results) else "?"
    loop = Loop.of(op) if op.name == "scan" else None
    stacked = loop is not None and any(value is whole for _, whole in loop.stacked)
    return 0 if stacked or op.name == "map" else None if any(leaves_as(op, region, inner)) else "?"


def _made(facts: Facts, op: Op, ask: Callable[[Value], Known]) -> Known:
    if plays(op.qualified, "module.init"):
        return frozenset((Members(op),))
    if plays(op.qualified, "optimizer.apply") or plays(op.qualified, "train_state.create"):
        return _of(op.argument("params"), ask)
    if plays(op.qualified, "train_state.step"):
        return _all(op.operands[:1], ask)
    if op.name == "array.join":
        arrays = op.argument("arrays")
        given = arrays if isinstance(arrays, tuple) else (arrays,)
        axis = op.argument("axis") or 0
        fits = op.function == "stack" and all(isinstance(one, Value) for one in given)
        return frozenset(_with(one, axis, op) for each in given for one in _of(each, ask)) if fits else _UNKNOWN
    if op.name == "py.item":
        return _item(facts, op, ask)
    if op.name == "py.global":
        return ask(op.constant) if isinstance(op.constant, Value) else _UNKNOWN
    if op.name == "array.map":
        # What is drawn anew may be there once for each member, and broadcast them.
        given = _all(op.operands, ask)
        return given if len({_shape(one) for one in given}) == 1 else _UNKNOWN
    return _all(op.operands, ask) if op.name in _HANDED_ON and op.operands else _UNKNOWN


def _shape(one: Members | None) -> object:
    return None if one is None else (one.astray, tuple(place for place, _ in one.axes))


def _of(given: Argument, ask: Callable[[Value], Known]) -> Known:
    """Return what an argument holds: of a dict of collections, its parameters."""
    value = given.get("params") if isinstance(given, Mapping) else given
    return ask(value) if isinstance(value, Value) else _UNKNOWN


def _item(facts: Facts, op: Op, ask: Callable[[Value], Known]) -> Known:
    """Return what an index gives: a collection by its name, an item of a list, a member of each leaf or some."""
    base, index = op.value("base"), op.argument("index")
    if base is None:
        return _UNKNOWN
    maker = facts.flow.maker(base)
    if index == "params" or (maker is not None and maker.name == "py.container"):
        return ask(base)
    if index is None:
        return frozenset(_with(one, 0, op) for one in ask(base))
    rank = 0 if isinstance(index, int) and not isinstance(index, bool) else None
    if isinstance(index, Value):
        rank = facts.get(Shapes).of(index).rank
    if rank in (0, 1):
        known = ((one, one is not None and 0 in dict(one.axes)) for one in ask(base))
        return frozenset((one if rank else _without(one, 0, op)) if has_members else None for one, has_members in known)
    return _UNKNOWN


def told(known: Known) -> Iterator[Members]:
    """Return every way in which a value holds parameters; nothing where one of them is not known."""
    if None not in known:
        yield from (one for one in known if one is not None)
