"""What a transfer function sees of its op: arguments as facts, and a place to say whether the sizes go together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from jaxaudit.analyses.shapes.dtypes import named_dtype
from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact
from jaxaudit.analyses.shapes.literals import literal
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.record import mutable


@mutable
class Look:
    """One op in one context."""

    op: Op
    source: Callable[[Value], ShapeFact]
    met: dict[Value, ShapeFact] = field(default_factory=dict)
    """Every value that was read, with its fact."""
    fit: Fit | None = None
    clash: str = ""
    inner: list[tuple[Look, Sequence[ShapeFact | None]]] = field(default_factory=list)
    """What the ops of its region met, and made, where the region is run on paper: once for each leaf of a tree."""

    def read(self, value: Value) -> ShapeFact:
        """Return the fact of a value."""
        fact = self.met.get(value)
        if fact is None:
            fact = self.met[value] = self.source(value)
        return fact

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

    def fact(self, *names: str) -> ShapeFact:
        """Return the fact of an argument under the first of these names that was used."""
        return self.of(self.raw(*names))

    def of(self, argument: Argument) -> ShapeFact:
        """Return the fact of any argument."""
        return NOTHING if argument is None else literal(argument, self.read)

    def dtype(self, *names: str) -> str | None:
        """Return the dtype that an argument names, or that of the array which it was read from."""
        return self.named_dtype(self.raw(*names))

    def named_dtype(self, given: Argument) -> str | None:
        """Return the dtype that any argument names."""
        if not isinstance(given, Value):
            return named_dtype(given)
        fact = self.read(given)
        return fact.dtype if fact.dims is None else None

    def first(self) -> ShapeFact:
        """Return the fact of the first argument, or of the first operand where arguments have no names."""
        if self.op.arguments:
            return self.of(next(iter(self.op.arguments.values())))
        return self.read(self.op.operands[0]) if self.op.operands else NOTHING

    def judge(self, fit: Fit, clash: str = "") -> None:
        """Whether the sizes that meet here go together."""
        if self.fit is not Fit.CLASHES:
            self.fit = fit if self.fit is None or fit is not Fit.FITS else self.fit
            self.clash = clash if fit is Fit.CLASHES else ""


Transfer = Callable[[Op, Look], Sequence[ShapeFact | None]]
"""Gives a fact for each result of an op."""

Single = Callable[[Look], ShapeFact]
"""Gives the fact of the only result."""


def single(function: Single) -> Transfer:
    """Make a transfer function of one that gives one fact."""
    return lambda op, look: (function(look),)
