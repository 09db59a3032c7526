"""Facts of arguments: constants, values, and the tuples and lists that front ends keep apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from jaxaudit.analyses.dims import UNKNOWN, Dim, constant, same
from jaxaudit.analyses.labels import Label, Labels, blocks, size_labels
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, ShapeFact, array, as_number, integer, sequence
from jaxaudit.ir import Argument, Size, Value

_BOOL = array((), "bool")
_FLOAT = array((), "float32", weak=True)
_COMPLEX = array((), "complex64", weak=True)


@lru_cache(maxsize=4096)
def _integer(number: int) -> ShapeFact:
    return integer(constant(number))


def literal(argument: Argument, read: Callable[[Value], ShapeFact]) -> ShapeFact:
    """Return the fact of an argument."""
    if isinstance(argument, Value):
        return read(argument)
    if isinstance(argument, str) or argument is None:
        return NOTHING
    if isinstance(argument, bool):
        return _BOOL
    if isinstance(argument, int):
        if type(argument) is int:
            return _integer(argument)
        return integer(_size(argument))
    if isinstance(argument, float):
        return _FLOAT
    if isinstance(argument, complex):
        return _COMPLEX
    if isinstance(argument, tuple):
        return sequence(tuple(literal(item, read) for item in argument))
    return NOTHING


def _size(number: int) -> Dim:
    """Return a named constant, or what was computed of some, with what that says of it."""
    factors = number.of if isinstance(number, Size) and number.how == "multiple" else ()
    return constant(number).labelled(size_labels(number) | _added(number) | blocks(*map(_size, factors)))


def is_slice(argument: Argument) -> bool:
    """Whether an index is a slice."""
    return isinstance(argument, Mapping) and set(argument) <= {"start", "stop", "step"}


def shape_of(fact: ShapeFact) -> Dims | None:
    """Return the shape that a shape argument means: a tuple of integers, or one integer."""
    if fact.items is not None:
        numbers = [as_number(item) for item in fact.items]
        return None if None in numbers else tuple(UNKNOWN if number is None else number for number in numbers)
    return None if fact.number is None else (fact.number,)


def shaped(fact: ShapeFact, dtype: str | None, *, weak: bool = False) -> ShapeFact:
    """Return the array that has the shape which a shape argument means."""
    return array(shape_of(fact), dtype, weak=weak, outline=fact.sizes)


def _added(number: int) -> Labels:
    """Return the named sizes that a number was added up of."""
    parts = number.of if isinstance(number, Size) and number.how == "sum" else ()
    return frozenset(Label("offset", one.name, one.scope, factors=(constant(one),)) for one in parts if one.name)


def axes_in(argument: Argument) -> tuple[int, ...] | None:
    """Return the axes that an axis argument names; None where they are not written out."""
    if isinstance(argument, int) and not isinstance(argument, bool):
        return (argument,)
    if isinstance(argument, tuple) and all(isinstance(item, int) for item in argument):
        return tuple(item for item in argument if isinstance(item, int))
    return None


def stacked(items: Sequence[ShapeFact]) -> Dims | None:
    """Return the shape of the array that a list of arrays or numbers makes."""
    if not items:
        return (constant(0),)
    shapes = [array_dims(item) for item in items]
    first = shapes[0]
    if first is None or any(dims is None or len(dims) != len(first) for dims in shapes):
        return None
    inner = tuple(
        next((dim for dim in column if all(same(dim, other) for other in column)), UNKNOWN)
        for column in zip(*(dims for dims in shapes if dims is not None), strict=True)
    )
    return (constant(len(items)), *inner)


def array_dims(fact: ShapeFact) -> Dims | None:
    """Return the shape a value has when it is used as an array: lists and tuples become arrays."""
    if fact.each is not None:
        inner = array_dims(fact.each)
        return None if inner is None else (fact.length or UNKNOWN, *inner)
    return stacked(fact.items) if fact.items is not None else fact.dims


def array_like(fact: ShapeFact) -> ShapeFact:
    """Return the fact of a value when it is used as an array."""
    if fact.each is not None:
        inner = array_like(fact.each)
        return array(None if inner.dims is None else (fact.length or UNKNOWN, *inner.dims), inner.dtype)
    if fact.items is None:
        return fact
    kinds = {(leaf.dtype, leaf.weak) for leaf in leaves(fact)}
    dtype = next(iter(kinds))[0] if len(kinds) == 1 else None
    return array(stacked(fact.items), dtype)


def leaves(fact: ShapeFact) -> list[ShapeFact]:
    """Return the items of nested tuples."""
    return [fact] if fact.items is None else [leaf for item in fact.items for leaf in leaves(item)]
