"""What a body computes of given numbers, and of unknowns: as sums of products of them.

Only what is done element by element is computed, and matrix products, whose factors keep their order.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import isfinite
from typing import Any

from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.functions import MATRIX_PRODUCTS, SUMS_OF_TWO
from jaxaudit.ir.ops import CALLS, KEEPING
from jaxaudit.ir.record import record


@record
class Polynomial:
    """A sum of products of unknowns: how often each product stands in it."""

    terms: Mapping[tuple[str, ...], int | Fraction]
    commutes: bool = True
    """Whether the order of factors makes no difference."""

    def __add__(self, other: Number) -> Polynomial:
        """Add a polynomial or a number."""
        terms = self._like(other).terms
        counts = {one: self.terms.get(one, 0) + terms.get(one, 0) for one in (*self.terms, *terms)}
        return Polynomial({product: count for product, count in counts.items() if count}, self.commutes)

    def __mul__(self, other: Number) -> Polynomial:
        """Multiply with a polynomial or a number, this one first."""
        counts: dict[tuple[str, ...], int | Fraction] = {}
        for one, count in self.terms.items():
            for two, times in self._like(other).terms.items():
                factors = tuple(sorted((*one, *two)) if self.commutes else (*one, *two))
                counts[factors] = counts.get(factors, 0) + count * times
        return Polynomial({product: count for product, count in counts.items() if count}, self.commutes)

    def __neg__(self) -> Polynomial:
        """Return it with the other sign."""
        return self * -1

    def __sub__(self, other: Number) -> Polynomial:
        """Subtract a polynomial or a number."""
        return self + self._like(other) * -1

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Number) -> Polynomial:
        """Subtract it from a number."""
        return self * -1 + other

    def _like(self, other: Number) -> Polynomial:
        return other if isinstance(other, Polynomial) else Polynomial({(): other} if other else {}, self.commutes)


Number = Polynomial | int | Fraction
Outside = Callable[[Value], Number]
"""Says what to take for a value that a body holds without being given it."""


def _both(one: object, other: object) -> bool:
    return bool(one) and bool(other)


def _either(one: object, other: object) -> bool:
    return bool(one) or bool(other)


_RING: Mapping[str, Callable[..., Number]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "negative": operator.neg,
}
"""What can be done with unknowns."""
ORDER: Mapping[str, Callable[..., Any]] = {
    "maximum": max,
    "minimum": min,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
"""What takes numbers by their order."""
_NUMBERS: Mapping[str, Callable[..., Any]] = {
    **ORDER,
    "logical_and": _both,
    "logical_or": _either,
    "logical_not": operator.not_,
    "bitwise_and": _both,
    "bitwise_or": _either,
}
"""What can be done with numbers alone."""


def computed(region: Region, given: Sequence[Number], outside: Outside) -> list[Number] | None:
    """Return what a body makes of what it is given; None where it does what is not followed."""
    known: dict[Value, Number] = dict(zip(region.params, given, strict=True))
    own = {*region.params, *(one for op in region.walk() for one in _made_in(op))}
    known.update((one, outside(one)) for op in region.walk() for one in op.operands if one not in own)
    _run(region, known)
    found = [known.get(value) for value in region.results]
    return None if None in found else [one for one in found if one is not None]


def _made_in(op: Op) -> Sequence[Value]:
    return (*op.results, *(param for region in op.regions for param in region.params))


def mixes_products(region: Region) -> bool:
    """Whether a body multiplies matrices and also single elements, so that no one algebra holds."""
    functions = {op.function for op in region.walk() if op.name in ("array.map", "array.dot")}
    added = functions - MATRIX_PRODUCTS
    return added != functions and not added <= SUMS_OF_TWO | {"negative"}


def multiplies_matrices(region: Region) -> bool:
    """Whether a body multiplies matrices, whose order counts."""
    return any(op.name == "array.dot" for op in region.walk())


def _run(region: Region, known: dict[Value, Number]) -> None:
    for op in region.ops:
        if op.regions and (op.name in CALLS or op.name == "vmap") and len(op.regions[0].params) == len(op.operands):
            inner = op.regions[0]
            known.update(
                (param, known[one]) for param, one in zip(inner.params, op.operands, strict=True) if one in known
            )
            _run(inner, known)
            made = zip(op.results, inner.results, strict=False)
            known.update((one, known[two]) for one, two in made if two in known)
        elif len(op.results) == 1 and (number := _made(op, known)) is not None:
            known[op.results[0]] = number


def _made(op: Op, known: Mapping[Value, Number]) -> Number | None:
    if op.name == "py.const":
        return _number(op.constant, known)
    arguments = op.arguments.values() if op.name in ("array.map", "array.dot", "array.select") else op.operands
    numbers = [_number(one, known) for one in arguments]
    given = [one for one in numbers if one is not None]
    if not given or len(given) < len(numbers):
        return None
    unknowns = any(isinstance(one, Polynomial) for one in given)
    match op.name:
        case "array.map":
            function = _RING.get(op.function) or (None if unknowns else _NUMBERS.get(op.function))
            return None if function is None else function(*given)
        case "array.dot":
            return given[0] * given[1] if op.function in MATRIX_PRODUCTS and len(given) == 2 else None
        case "array.select":
            chosen = op.function == "where" and len(given) == 3 and not unknowns
            return given[1 if given[0] else 2] if chosen else None
        case name if name in KEEPING and name != "array.permute":
            return given[0]
    return None


def _number(given: object, known: Mapping[Value, Number]) -> Number | None:
    if isinstance(given, Value):
        return known.get(given)
    return Fraction(given) if isinstance(given, int | float) and isfinite(given) else None
