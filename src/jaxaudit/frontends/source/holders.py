"""Library objects that keep a function of the user and call it later.

`hk.transform(f)` is called by `apply`, a `Sequential` calls its layers one after the other, and a `TrainState` keeps
the `apply` of its model. The object is a leaf that holds what it will call, so that the call can be followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxaudit.frontends.source.arguments import Arguments, known_items
from jaxaudit.frontends.source.values import Abstract, Const, Leaf, TupleValue
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpreter import Interpreter

_TRAIN_STATE = "flax.training.train_state.TrainState"
_OF_FUNCTION = frozenset(("haiku.transform", "haiku.transform_with_state"))
_SAME = frozenset(("haiku.without_apply_rng", "haiku.without_state", "haiku.with_empty_state"))
_IN_TURN = frozenset(("flax.linen.Sequential", "haiku.Sequential", "equinox.nn.Sequential"))
_APPLIES = {"haiku.Transformed": (1, 2), "haiku.TransformedWithoutRng": (None, 1), "haiku.TransformedWithState": (2, 3)}
"""Where the key stands among the arguments of `apply`, and where those of the function begin."""


def holding(made: Abstract, name: str, given: Arguments) -> Abstract:
    """Give a new library object with what it will call later."""
    held = _held(name, given)
    return Leaf(made.value, made.cls, held) if held is not None and isinstance(made, Leaf) else made


def _held(name: str, given: Arguments) -> Abstract | None:
    first = given.positional[0] if given.positional else None
    if name in _OF_FUNCTION or name in _IN_TURN:
        return first
    if name in _SAME:
        return first.holds if isinstance(first, Leaf) else None
    if name == "flax.nnx.Sequential":
        return TupleValue(given.positional) if given.star is None else None
    return given.keywords.get("apply_fn") if name == f"{_TRAIN_STATE}.create" else None


def in_turn(it: Interpreter, held: Abstract, given: Arguments, span: Span) -> Abstract | None:
    """Call the layers of a `Sequential` one after the other; None where they are not known one by one."""
    layers = known_items(it, held)
    if layers is None or not given.positional or given.star is not None or given.stars is not None:
        return None
    value: Abstract | None = None
    for layer in layers:
        value = it.call(layer, given if value is None else Arguments((value,)), span)
    return value


def followed(it: Interpreter, receiver: Leaf, name: str, given: Arguments, made: Abstract, span: Span) -> Abstract:
    """Give the result of a method that calls what its object holds, else what the op of the method gives."""
    if receiver.holds is None or given.star is not None or given.stars is not None:
        return made
    if receiver.cls == _TRAIN_STATE:
        return _of_state(it, receiver, name, given, made, span)
    key, first = _APPLIES.get(receiver.cls, (None, 0))
    if name != "apply" or not first or len(given.positional) < first or _draws(given, key):
        return made
    out = it.call(receiver.holds, Arguments(given.positional[first:], given.keywords), span)
    if receiver.cls != "haiku.TransformedWithState" or not isinstance(made, Leaf):
        return out
    parts = it.emit("py.unpack", span, {"base": made.value}, {"count": 2, "star": None}, results=2).results
    return TupleValue((out, Leaf(parts[1])))


def _draws(given: Arguments, key: int | None) -> bool:
    """Tell whether numbers are drawn inside: they are in what the op gives, and in nothing that is followed."""
    return "rng" in given.keywords or (key is not None and given.positional[key] != Const(None))


def _of_state(it: Interpreter, receiver: Leaf, name: str, given: Arguments, made: Abstract, span: Span) -> Abstract:
    if name in ("replace", "apply_gradients") and isinstance(made, Leaf):
        return Leaf(made.value, made.cls, given.keywords.get("apply_fn", receiver.holds))
    if name == "apply_fn" and receiver.holds is not None and "rngs" not in given.keywords:
        return it.call(receiver.holds, given, span)
    return made
