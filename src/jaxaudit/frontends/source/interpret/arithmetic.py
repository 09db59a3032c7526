"""Functions of numbers that Python computes itself: `math.sqrt(6)` is a number like any that is written out."""

from __future__ import annotations

import math
from collections.abc import Callable

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.model import Abstract, Const
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


HANDLERS: dict[str, Handler] = {
    **{f"math.{name}": _computed(function) for name, function in vars(math).items() if callable(function)},
    "builtins.round": _computed(round),
}
"""What is computed where all that it is given is known."""
