"""Library objects that keep a function of the user and call it later.

`hk.transform(f)` is called by `apply`, a `Sequential` calls its layers one after the other, and a `TrainState` keeps
the `apply` of its model. The object is a leaf that holds what it will call, so that the call can be followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxaudit.frontends.source.interpret import applied, lifts
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Transformed, TupleValue
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.interpreter import Interpreter

_TRAIN_STATE = "flax.training.train_state.TrainState"
_OF_FUNCTION = frozenset(("haiku.transform", "haiku.transform_with_state"))
_SAME = frozenset(("haiku.without_apply_rng", "haiku.without_state", "haiku.with_empty_state"))
_IN_TURN = frozenset(("flax.linen.Sequential", "haiku.Sequential", "equinox.nn.Sequential"))
_APPLIES = {"haiku.Transformed": (1, 2), "haiku.TransformedWithoutRng": (None, 1), "haiku.TransformedWithState": (2, 3)}
"""Where the key stands among the arguments of `apply`, and where those of the function begin."""


def holding(made: Abstract, name: str, given: Arguments) -> Abstract:
    """Return a new library object with what it will call later."""
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


def instead(it: Interpreter, receiver: Leaf, name: str, given: Arguments, span: Span) -> Abstract | None:
    """Return the result of a method that does nothing but call what its object holds; None for any other."""
    if name == "__call__" and isinstance(lifted := receiver.holds, Transformed):
        made = lifts.apply(it, lifted, given, span, bound=False)
        return it.unknown("a lifted layer", span) if made is None else made
    if name == "__call__":
        return in_turn(it, receiver.holds, given, span) if receiver.holds is not None else None
    held = receiver.holds if receiver.cls == _TRAIN_STATE and name == "apply_fn" else None
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


def followed(it: Interpreter, receiver: Leaf, name: str, given: Arguments, made: Abstract, span: Span) -> Abstract:
    """Return the result of a method that calls what its object holds, else what the op of the method gives."""
    if receiver.holds is None or given.star is not None or given.stars is not None:
        return made
    if receiver.cls == _TRAIN_STATE:
        return _of_state(receiver, name, given, made)
    key, first = _APPLIES.get(receiver.cls, (None, 0))
    if name != "apply" or not first or len(given.positional) < first or not isinstance(made, Leaf):
        return made
    keywords = {name: value for name, value in given.keywords.items() if name != "rng"}
    out = it.call(receiver.holds, Arguments(given.positional[first:], keywords), span)
    drawn, rest = made.value, None
    if receiver.cls == "haiku.TransformedWithState":
        drawn, rest = it.emit("py.unpack", span, {"base": drawn}, {"count": 2, "star": None}, results=2).results
    out = applied.within(it, out, drawn, span) if _draws(given, key) else out
    return out if rest is None else TupleValue((out, Leaf(rest)))


def _draws(given: Arguments, key: int | None) -> bool:
    """Whether numbers may be drawn inside."""
    return "rng" in given.keywords or (key is not None and given.positional[key] != Const(None))


def _of_state(receiver: Leaf, name: str, given: Arguments, made: Abstract) -> Abstract:
    if name in ("replace", "apply_gradients") and isinstance(made, Leaf):
        return Leaf(made.value, made.cls, given.keywords.get("apply_fn", receiver.holds))
    return made
