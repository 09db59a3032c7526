"""Functions of numbers that Python computes itself: `math.sqrt(6)` is a number like any that is written out."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import reduce

from jaxaudit.frontends.source.interpret import asked, expressions
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Sequence
from jaxaudit.frontends.source.values.structure import argument
from jaxaudit.ir import Size
from jaxaudit.spans import Span

Handler = Callable[[Interpreter, Arguments, Span], Abstract | None]


def _computed(function: Callable[..., object]) -> Handler:
    """Return what computes a function of constants; what it is given besides stays a call."""

    def compute(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
        values = [_number(it, one) for one in given.positional]
        if not values or None in values or given.keywords or given.star is not None or given.stars is not None:
            return None
        try:
            made = function(*values)
        except (TypeError, ValueError, OverflowError, ZeroDivisionError):
            return None
        # The logarithm of a size tells of what it is the size, which a number does not.
        of_size = any(isinstance(value, Size) and value.name for value in values)
        return Const(made) if isinstance(made, int) or (isinstance(made, float) and not of_size) else None

    return compute


def _number(it: Interpreter, value: Abstract) -> object:
    """Return a constant number, or several in a row; None for anything else."""
    if isinstance(value, Const):
        return value.value if isinstance(value.value, int | float) else None
    items = known_items(it, value)
    numbers = [_number(it, item) for item in items] if items is not None else [None]
    return None if None in numbers else numbers


def _extreme(function: Callable[..., object]) -> Handler:
    def extreme(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
        asked.ASKING[function.__name__](it, given, function.__name__, span)
        numbers = [value.value for value in given.positional if isinstance(value, Const)]
        if len(numbers) != len(given.positional) or len(numbers) < 2 or given.keywords:
            return _over(it, function.__name__, given, span)
        try:
            return Const(function(*numbers))
        except TypeError:
            return None

    return extreme


def _over(it: Interpreter, name: str, given: Arguments, span: Span) -> Abstract | None:
    """Interpret a function of the items of one thing, or of its arguments: `max(lengths)`, `max(n, 1)`."""
    if not given.positional or given.keywords or given.star is not None or given.stars is not None:
        return None
    if any(isinstance(value, Sequence) for value in given.positional):
        # Of what is given one by one, each is an operand: how long it is may be asked of each.
        return None
    parts = tuple(argument(it, value, span) for value in given.positional)
    given_parts = {"iterable": parts[0]} if len(parts) == 1 else {"args": parts}
    return Leaf(it.emit("py.call_library", span, given_parts, {"function": f"builtins.{name}"}).result)


def _sum(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Return `sum((a, b, c))`, which is `a + b + c`."""
    items = known_items(it, given.positional[0]) if len(given.positional) == 1 and not given.keywords else None
    if not items or len(items) > 16:
        return _over(it, "sum", given, span) if len(given.positional) == 1 else None
    return reduce(lambda total, item: expressions.apply_binary(it, ast.Add(), total, item, span), items)


HANDLERS: dict[str, Handler] = {
    **{f"math.{name}": _computed(function) for name, function in vars(math).items() if callable(function)},
    "builtins.round": _computed(round),
    "builtins.max": _extreme(max),
    "builtins.min": _extreme(min),
    "builtins.sum": _sum,
}
"""What is computed where all that it is given is known."""
