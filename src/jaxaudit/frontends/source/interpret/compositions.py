"""Library functions that are others put together, and mean what those mean."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.callables import Library, PartialValue
from jaxaudit.frontends.source.values.elements import BAR
from jaxaudit.frontends.source.values.model import Abstract, Const, TupleValue
from jaxaudit.ir.record import replace
from jaxaudit.spans import Span

Handler = Callable[["Interpreter", Arguments, Span], Abstract | None]
"""Gives the result of a call, or None where its parts are not known."""


def _choosing(library: str) -> Handler:
    """Interpret `select([c, d], [x, y], z)`, which is `where(c, x, where(d, y, z))`."""
    where = Library(f"{library}.where")

    def select(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
        lists = given.get(0, "condlist"), given.get(1, "choicelist")
        conditions, choices = (None if one is None else known_items(it, one) for one in lists)
        if not conditions or choices is None or len(conditions) != len(choices):
            return None
        otherwise = given.get(2, "default") or Const(0)
        pairs = reversed(list(zip(conditions, choices, strict=True)))
        return reduce(lambda rest, pair: it.call(where, Arguments((*pair, rest)), span), pairs, otherwise)

    return select


def _make_with_state(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Return what makes a module and its state: `make_with_state(Net)`, to be called with the arguments of `Net`."""
    cls = given.get(0, "make_model")
    return None if cls is None else PartialValue(Library(_MADE), (cls,), {}, span=span)


def _made_with_state(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    model = it.call(given.positional[0], replace(given, positional=given.positional[1:]), span)
    return TupleValue((model, it.call(Library("equinox.nn.State"), Arguments((model,)), span)))


def _counting_bar(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Return `tqdm(range(...))`, which `trange(...)` stands for."""
    counted = it.call(Library("builtins.range"), replace(given, keywords={}), span)
    return it.call(Library(BAR), Arguments((counted,), given.keywords), span)


_MADE = "equinox.nn.make_with_state.made"

HANDLERS: dict[str, Handler] = {
    **{f"{library}.select": _choosing(library) for library in ("jax.numpy", "numpy")},
    "equinox.nn.make_with_state": _make_with_state,
    _MADE: _made_with_state,
    "tqdm.trange": _counting_bar,
}
