"""Library functions that are others put together, and mean what those mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.callables import Library, PartialValue
from jaxaudit.frontends.source.values.elements import BAR
from jaxaudit.frontends.source.values.model import NONE, Abstract, Const, Slice, TupleValue
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


def _numbers(it: Interpreter, library: str, items: Sequence[Abstract], span: Span) -> list[Abstract]:
    """Return items in brackets with the numbers that slices stand for: `0:5`, and `0:1:5j` with both ends."""
    found: list[Abstract] = []
    for item in items:
        if isinstance(item, Slice):
            start = Const(0) if item.start == NONE else item.start
            match item.step:
                case Const(value=complex() as step):
                    given = Arguments((start, item.stop, Const(int(abs(step)))))
                    item = it.call(Library(f"{library}.linspace"), given, span)
                case step:
                    steps = () if step == NONE else (step,)
                    item = it.call(Library(f"{library}.arange"), Arguments((start, item.stop, *steps)), span)
        found.append(item)
    return found


def _grid(library: str) -> Handler:
    """Interpret `mgrid[0:3, 0:4]`, which is `stack(meshgrid(arange(3), arange(4), indexing="ij"))`."""

    def mgrid(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
        if not given.positional or not all(isinstance(one, Slice) for one in given.positional):
            return None
        axes = _numbers(it, library, given.positional, span)
        if len(axes) == 1:
            return axes[0]
        meshed = Arguments(tuple(axes), {"indexing": Const("ij")})
        grids = it.call(Library(f"{library}.meshgrid"), meshed, span)
        return it.call(Library(f"{library}.stack"), Arguments((grids,)), span)

    return mgrid


def _joining(library: str, function: str) -> Handler:
    """Interpret `r_[0:3, x]` and `c_[x, y]`, which are `hstack([arange(3), x])` and `column_stack([x, y])`."""

    def joined(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
        # Text says how to join: `r_["0,2", x, y]`.
        if not given.positional or any(
            isinstance(one, Const) and isinstance(one.value, str) for one in given.positional
        ):
            return None
        parts = TupleValue(tuple(_numbers(it, library, given.positional, span)))
        return it.call(Library(f"{library}.{function}"), Arguments((parts,)), span)

    return joined


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

_NUMPY = ("jax.numpy", "numpy")

HANDLERS: dict[str, Handler] = {
    **{f"{library}.select": _choosing(library) for library in _NUMPY},
    **{f"{library}.mgrid": _grid(library) for library in _NUMPY},
    **{f"{library}.r_": _joining(library, "hstack") for library in _NUMPY},
    **{f"{library}.c_": _joining(library, "column_stack") for library in _NUMPY},
    "equinox.nn.make_with_state": _make_with_state,
    _MADE: _made_with_state,
    "tqdm.trange": _counting_bar,
}
