"""Library objects that keep a function of the user and call it later.

`hk.transform(f)` is called by `apply`, a `Sequential` calls its layers one after the other, and a `TrainState` keeps
the `apply` of its model. The object is a leaf that holds what it will call, so that the call can be followed. Rows say
which argument that is. The parts that `eqx.partition` and `nnx.split` make of a model hold the model they are of, so
that what is put together again can be called as the model can.
"""

from __future__ import annotations

from jaxaudit.frontends.source.classes.members import library_bases
from jaxaudit.frontends.source.interpret import applied, lifts
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.likeness import leaf_by_leaf
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.callables import Transformed
from jaxaudit.frontends.source.values.heap import ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Ref, TupleValue
from jaxaudit.libraries.classes import bases
from jaxaudit.libraries.lookup import lookup, plays
from jaxaudit.libraries.results import Parts
from jaxaudit.libraries.rows import Row
from jaxaudit.spans import Span


def holding(made: Abstract, row: Row, given: Arguments) -> Abstract:
    """Return a new library object with what it will call later."""
    held = _held(row, given) if row.holds else None
    if held is None:
        return made
    if isinstance(made, TupleValue):
        # One of several results is the object.
        parts = (one if isinstance(one, Leaf) and not one.cls else holding(one, row, given) for one in made.items)
        return TupleValue(tuple(parts))
    return Leaf(made.value, made.cls, held) if isinstance(made, Leaf) else made


def _held(row: Row, given: Arguments) -> Abstract | None:
    """Return what an object holds: the argument that its row names, or what that holds itself."""
    if row.holds.startswith("*"):
        return TupleValue(given.positional) if given.star is None else None
    held = given.get(row.position(row.holds), row.holds)
    return held.holds if isinstance(held, Leaf) and held.holds is not None else held


def instead(it: Interpreter, receiver: Leaf, name: str, given: Arguments, span: Span) -> Abstract | None:
    """Return the result of a method that does nothing but call what its object holds; None for any other."""
    if plays(f"{receiver.cls}.{name}", "tree.unravel"):
        return None
    if name == "__call__" and isinstance(lifted := receiver.holds, Transformed):
        made = lifts.apply(it, lifted, given, span, bound=False)
        return it.unknown("a lifted layer", span) if made is None else made
    if name == "__call__":
        return in_turn(it, receiver.holds, given, span) if receiver.holds is not None else None
    create = lookup(f"{receiver.cls}.create")
    held = receiver.holds if create is not None and create.holds == name else None
    return None if held is None or isinstance(held, Leaf | Const) else it.call(held, given, span)


def in_turn(it: Interpreter, held: Abstract, given: Arguments, span: Span) -> Abstract | None:
    """Call the layers of a `Sequential` one after the other; None where they are not known one by one."""
    layers = known_items(it, held)
    if layers is None or not given.positional or given.star is not None or given.stars is not None:
        return None
    value: Abstract | None = None
    for layer in layers:
        value = it.call(layer, given if value is None else Arguments((value,)), span)
    return value


def followed(it: Interpreter, receiver: Leaf, row: Row, given: Arguments, made: Abstract, span: Span) -> Abstract:
    """Return the result of a method that calls what its object holds, else what the op of the method gives."""
    if receiver.holds is None or given.star is not None or given.stars is not None or not isinstance(made, Leaf):
        return made
    if "tree.unravel" in row.roles:
        return leaf_by_leaf(it, receiver.holds, made.value, span)
    like = row.like()
    if like is not None and like.param == "self":
        return Leaf(made.value, made.cls, given.keywords.get(row.holds, receiver.holds))
    first = row.position("*args")
    if "module.apply" not in row.roles or len(given.positional) < first or isinstance(receiver.holds, Leaf | Const):
        return made
    out = it.call(receiver.holds, Arguments(given.positional[first:], _without(given, row.key)), span)
    drawn, rest = made.value, None
    if isinstance(row.result, Parts):
        drawn, rest = it.emit("py.unpack", span, {"base": drawn}, {"count": 2, "star": None}, results=2).results
    key = given.get(row.position(row.key), row.key) if row.key else None
    out = out if key is None or key == Const(None) else applied.within(it, out, drawn, span)
    return out if rest is None else TupleValue((out, Leaf(rest)))


def _without(given: Arguments, name: str) -> dict[str, Abstract]:
    return {key: value for key, value in given.keywords.items() if key != name}


_APART = frozenset(("model.filter", "model.partition", "model.split"))
_MODELS = bases("model")
_PART = "<part of a model>"
"""The class of what holds the model that it is a part of."""


def parted(it: Interpreter, row: Row, given: Arguments, made: Abstract, span: Span) -> Abstract:
    """Return the parts of a model with the model they are of, and the model again when they are put together."""
    if not isinstance(made, Leaf) or not given.positional or given.star is not None:
        return made
    first = given.positional[0]
    if "model.join" in row.roles:
        held = first.holds if isinstance(first, Leaf) and first.cls == _PART else None
        return made if held is None else leaf_by_leaf(it, held, made.value, span)
    if not row.roles & _APART or not _is_model(it, first):
        return made
    if "model.filter" in row.roles:
        return Leaf(made.value, _PART, first)
    split = "model.split" in row.roles
    count = 2 if not split else 1 + max(1, len(given.positional) - 1)
    op = it.emit("py.unpack", span, {"base": made.value}, {"count": count, "star": None}, results=count)
    if split:
        return TupleValue((Leaf(op.results[0], _PART, first), *map(Leaf, op.results[1:])))
    return TupleValue(tuple(Leaf(part, _PART, first) for part in op.results))


def _is_model(it: Interpreter, value: Abstract) -> bool:
    if isinstance(value, Leaf):
        return any(value.cls.startswith(f"{library}.") for library in ("equinox.nn", "flax.nnx"))
    box = it.heap[value] if isinstance(value, Ref) else None
    return isinstance(box, ObjectBox) and not _MODELS.isdisjoint(library_bases(box.cls))
