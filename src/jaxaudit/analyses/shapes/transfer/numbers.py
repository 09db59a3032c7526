"""Arithmetic on Python integers and tuples: sizes stay symbols, and questions about them are answered if possible."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from jaxaudit.analyses.dims import Dim, differ, same
from jaxaudit.analyses.labels import blocks, derived, offsets
from jaxaudit.analyses.shapes.facts import (
    NOTHING,
    ShapeFact,
    array,
    as_number,
    common_outline,
    integer,
    sequence,
    truth,
)
from jaxaudit.analyses.shapes.literals import shape_of
from jaxaudit.analyses.shapes.transfer.look import Look
from jaxaudit.ir.functions import EQUALITIES
from jaxaudit.ir.record import replace

_ARITHMETIC: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
}


def arithmetic(look: Look, x: ShapeFact, y: ShapeFact) -> ShapeFact | None:
    """Return what an operator makes of two Python integers or tuples; None where its operands are something else."""
    function = look.function
    if function == "add" and (joined := joined_tuples(x, y)) is not None:
        return joined
    if x.items is not None and function == "multiply" and y.number is not None:
        return _repeated(x.items, y.number)
    if function in EQUALITIES and _is_tuple(x) and _is_tuple(y):
        alike = None if x.items is None or y.items is None else _are_equal(x.items, y.items)
        return array((), "bool") if alike is None else truth(alike is (function == "equal"))
    if x.each is not None or y.each is not None:
        return NOTHING
    if (x.items is not None or y.items is not None) and not (x.is_array or y.is_array):
        # A tuple and something unknown: a longer tuple, or an array.
        return NOTHING
    return _integers(function, x, y)


def _is_tuple(fact: ShapeFact) -> bool:
    """Whether something is a tuple or list for sure, or the shape of an array."""
    return fact.items is not None or fact.sizes is not None


def joined_tuples(x: ShapeFact, y: ShapeFact) -> ShapeFact | None:
    """Return the tuple of the items of two, one of which may be as long as an array has axes; None for other things."""
    if x.items is not None and y.items is not None:
        return sequence(x.items + y.items)
    sizes, more = (y.sizes, shape_of(x)) if x.sizes is None else (x.sizes, shape_of(y))
    if sizes is None or more is None or (x.items is None and y.items is None):
        return None
    if x.sizes is None:
        return ShapeFact(sizes=replace(sizes, head=(*more, *sizes.head)))
    return ShapeFact(sizes=replace(sizes, tail=(*sizes.tail, *more)))


def _are_equal(first: Sequence[ShapeFact], second: Sequence[ShapeFact]) -> bool | None:
    """Whether two tuples of integers are equal, as shapes are; None where that is not known."""
    if len(first) != len(second):
        return False
    pairs = [(x.number, y.number) for x, y in zip(first, second, strict=True)]
    if any(x is not None and y is not None and differ(x, y) for x, y in pairs):
        return False
    return True if all(x is not None and y is not None and same(x, y) for x, y in pairs) else None


def _repeated(items: tuple[ShapeFact, ...], times: Dim) -> ShapeFact:
    """Return `[x] * n`."""
    count = times.constant
    if count is not None:
        return sequence(items * count) if 0 <= count <= 32 else _column(items, times)
    return _column(items, times)


def _column(items: tuple[ShapeFact, ...], times: Dim) -> ShapeFact:
    if len(items) != 1 or not times.known:
        return NOTHING
    return ShapeFact(each=items[0], length=times)


_QUESTIONS: Mapping[str, Callable[[int], bool]] = {
    "equal": lambda gap: gap == 0,
    "not_equal": lambda gap: gap != 0,
    "less": lambda gap: gap < 0,
    "less_equal": lambda gap: gap <= 0,
    "greater": lambda gap: gap > 0,
    "greater_equal": lambda gap: gap >= 0,
}


def _asked(function: str, x: Dim, y: Dim) -> ShapeFact | None:
    gap = (x - y).constant
    if gap is not None:
        return truth(_QUESTIONS[function](gap))
    return truth(function == "not_equal") if function in EQUALITIES and differ(x, y) else None


def _integers(function: str, x: ShapeFact, y: ShapeFact) -> ShapeFact | None:
    if function in _QUESTIONS and x.number is not None and y.number is not None:
        return _asked(function, x.number, y.number)
    if function not in _ARITHMETIC or (x.number is None and y.number is None):
        return None
    if (x.number is None and not x.symbol) or (y.number is None and not y.symbol):
        return None
    if x.number is None or y.number is None:
        # The other operand may be an array or a float; as a size the sum is still one thing.
        return _symbolic(function, x, y)
    return integer(_computed(function, x.number, y.number))


def _computed(function: str, x: Dim, y: Dim) -> Dim:
    """Return what an operator makes of two integers, with what is known of the sizes that it was computed of."""
    made = _ARITHMETIC[function](x, y)
    if function == "floor_divide":
        return made.labelled(derived("part", x.labels))
    if function == "multiply":
        return made.labelled(derived("multiple", x.labels | y.labels) | blocks(x, y))
    return made.labelled(offsets(x) | offsets(y)) if function == "add" else made


def _symbolic(function: str, x: ShapeFact, y: ShapeFact) -> ShapeFact:
    a, b = as_number(x), as_number(y)
    if a is None or b is None:
        return NOTHING
    born = max(x.born, y.born, *_births(a), *_births(b))
    symbol = f"({a} {function} {b})"
    return ShapeFact(symbol=symbol, born=born, outline=common_outline((x, y)), integer=_computed(function, a, b))


def _births(dim: Dim) -> list[int]:
    return [0, *(atom.born for atom in dim.atoms())]


def negated(x: ShapeFact) -> ShapeFact | None:
    """Return the negative of a Python integer."""
    return None if x.number is None else integer(-x.number)
