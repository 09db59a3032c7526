"""Library functions that are others put together, and mean what those mean."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.callables import Library
from jaxaudit.frontends.source.values.model import Abstract, Const
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


HANDLERS: dict[str, Handler] = {f"{library}.select": _choosing(library) for library in ("jax.numpy", "numpy")}
