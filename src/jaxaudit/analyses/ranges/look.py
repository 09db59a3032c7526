"""What a transfer function sees of its op: arguments as ranges, with the sizes and dtypes that shapes tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import e, inf, pi

from jaxaudit.analyses.ranges.facts import ANY, WILD, Axes, Range, exactly, join
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.dtypes import named_dtype
from jaxaudit.ir import Argument, ArrayType, Op, Program, Symbol, Value
from jaxaudit.ir.record import mutable, record

_SYMBOLS: Mapping[str, float] = {"pi": pi, "e": e, "inf": inf, "infty": inf, "euler_gamma": 0.5772156649015329}


@record
class Known:
    """What is known of values before ranges are looked for."""

    types: Mapping[Value, ArrayType]
    shapes: Shapes
    dtypes: Mapping[Value, str]
    """The dtype of each value of which one is known; exact where JAX told it."""
    makers: Mapping[Value, Op]
    inputs: frozenset[Value]
    """The parameters of roots: ordinary numbers."""

    def dtype(self, value: Value) -> str | None:
        """Return the dtype of a value, where it is known."""
        return self.dtypes.get(value)

    def sizes(self, value: Value) -> tuple[int | None, ...] | None:
        """Return the sizes of a value's axes, each None where it is not known; None where even the rank is not."""
        exact = self.types.get(value)
        if exact is not None:
            return exact.shape
        dims = self.shapes.of(value).dims
        return None if dims is None else tuple(dim.constant for dim in dims)

    def number(self, value: Value) -> int | None:
        """Return the Python integer that a value is, where sizes decide it."""
        number = self.shapes.of(value).number
        return None if number is None else number.constant


def known_of(program: Program, shapes: Shapes) -> Known:
    """Gather what is known of a program's values."""
    inputs = frozenset(value for root in program.roots for value in root.region.params)
    dtypes = {value: fact.dtype for value, fact in shapes.facts.items() if fact.dtype is not None}
    dtypes.update((value, exact.dtype) for value, exact in program.types.items())
    return Known(program.types, shapes, dtypes, program.makers, inputs)


@mutable
class Look:
    """One op in one context."""

    op: Op
    read: Callable[[Value], Range]
    known: Known

    @property
    def function(self) -> str:
        """The last part of the function's name."""
        return self.op.function

    def raw(self, *names: str) -> Argument:
        """Return an argument as it stands, under the first of these names that was used."""
        return self.op.argument(*names)

    def has(self, *names: str) -> bool:
        """Whether an argument was given under one of these names."""
        return self.op.has(*names)

    def of(self, argument: Argument) -> Range:
        """Return the range of an argument: a value, a constant, or a list of these."""
        if isinstance(argument, Value):
            return self.read(argument)
        if isinstance(argument, (bool, int, float)):
            return _number(argument)
        if isinstance(argument, Symbol):
            return exactly(_SYMBOLS[name]) if (name := argument.rpartition(".")[2]) in _SYMBOLS else ANY
        if isinstance(argument, tuple):
            return reduce(join, (self.of(item) for item in argument)) if argument else ANY
        return ANY if argument is None else WILD

    def range(self, *names: str) -> Range:
        """Return the range of an argument under the first of these names that was used."""
        return self.of(self.raw(*names))

    def given(self) -> list[Argument]:
        """Return the arguments in order, or the operands where they have no names."""
        return list(self.op.arguments.values()) if self.op.arguments else list(self.op.operands)

    def leading(self) -> Argument:
        """Return the first argument as it stands; None where all that is given is `*args`."""
        given = self.given()
        return given[0] if given else None

    def first(self) -> Range:
        """Return the range of the first argument."""
        given = self.given()
        return self.of(given[0]) if given else WILD

    def first_value(self) -> Value | None:
        """Return the first argument where it is a value."""
        given = self.given()
        return given[0] if given and isinstance(given[0], Value) else None

    def sizes(self, argument: Argument) -> tuple[int | None, ...] | None:
        """Return the sizes of an argument's axes."""
        if isinstance(argument, Value):
            return self.known.sizes(argument)
        return () if isinstance(argument, (bool, int, float)) else None

    def dtype(self, argument: Argument) -> str | None:
        """Return the dtype of an argument."""
        return self.known.dtype(argument) if isinstance(argument, Value) else None

    @property
    def out_dtype(self) -> str | None:
        """The dtype of the first result."""
        return self.known.dtype(self.op.results[0]) if self.op.results else None

    def asked_dtype(self) -> str | None:
        """Return the dtype that an argument asks for."""
        asked = self.raw("dtype", "new_dtype")
        if isinstance(asked, Value):
            return self.known.dtype(asked)
        return asked if isinstance(asked, str) and "." not in asked and asked.isalnum() else named_dtype(asked)

    def maker(self, argument: Argument) -> Op | None:
        """Return the op that made an argument."""
        return self.known.makers.get(argument) if isinstance(argument, Value) else None


def _number(argument: bool | float) -> Range:
    try:
        return exactly(float(argument))
    except OverflowError:
        return exactly(inf if argument > 0 else -inf)


Transfer = Callable[[Look], Sequence[Range | None]]
"""Gives a range for each result of an op."""


def single(function: Callable[[Look], Range]) -> Transfer:
    """Make a transfer function of one that gives one range for every result."""
    return lambda look: [function(look)] * max(len(look.op.results), 1)


def axes_from_end(axis: Argument, rank: int | None) -> Axes | None:
    """Return the axes of an axis argument counted from the end; None where they are not known."""
    axes = (axis,) if isinstance(axis, int) and not isinstance(axis, bool) else axis
    if not isinstance(axes, tuple):
        return None
    found = {_from_end(one, rank) for one in axes}
    return None if None in found else frozenset(one for one in found if one is not None)


def _from_end(axis: Argument, rank: int | None) -> int | None:
    if not isinstance(axis, int) or isinstance(axis, bool):
        return None
    if axis < 0:
        return axis
    return None if rank is None else axis - rank
