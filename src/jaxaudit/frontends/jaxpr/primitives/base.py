"""What a row of the lowering table is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jaxaudit.ir import Argument, ArrayType


@dataclass(frozen=True, slots=True)
class Equation:
    """An equation whose operands are values or constants of the program."""

    name: str
    params: Mapping[str, Any]
    inputs: tuple[Argument, ...]
    in_types: tuple[ArrayType | None, ...]
    out_types: tuple[ArrayType | None, ...]

    def shape(self, position: int = 0) -> tuple[int, ...]:
        """Give the shape of an operand."""
        found = self.in_types[position] if position < len(self.in_types) else None
        return found.shape if found is not None else ()

    @property
    def out_shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        found = self.out_types[0] if self.out_types else None
        return found.shape if found is not None else ()


_SEQUENCES: tuple[type, ...] = (tuple, list)

Build = Callable[[Equation], Mapping[str, Argument]]
"""Gives the arguments of the op, by the names `jax.numpy` uses."""


@dataclass(frozen=True, slots=True)
class Row:
    """One primitive: the op it becomes, the function it is known as, and its arguments."""

    op: str
    function: str
    build: Build
    spell: Callable[[Equation], str] | None = None
    """Gives the function's name where it depends on the equation."""

    def known_as(self, equation: Equation) -> str:
        """Give the name of the function for one equation."""
        return self.function if self.spell is None else self.spell(equation)


def named(*names: str) -> Build:
    """Make the builder that gives operands these names, in order; further ones are numbered."""

    def build(equation: Equation) -> Mapping[str, Argument]:
        given = equation.inputs
        more = {f"operand{i}": value for i, value in enumerate(given[len(names) :], start=len(names))}
        return {**dict(zip(names, given, strict=False)), **more}

    return build


def numbers(items: Iterable[Any]) -> tuple[int, ...]:
    """Give axes, sizes and indices as plain numbers."""
    return tuple(number(item) for item in items)


def number(item: Any) -> int:
    """Give one axis or size as a plain number; a symbolic size is -1."""
    return int(item) if hasattr(item, "__index__") else -1


def plain(item: Any) -> Argument:
    """Give a parameter of an equation as a constant of the IR."""
    if item is None or isinstance(item, bool | int | float | complex | str | bytes):
        return item
    if hasattr(item, "__index__"):
        return int(item)
    if isinstance(item, _SEQUENCES):
        return tuple(plain(part) for part in item)
    if hasattr(item, "items"):
        return {str(key): plain(part) for key, part in item.items()}
    return str(item)


def constant(literal: Any) -> Argument:
    """Give a literal of a jaxpr as a constant of the IR."""
    value = literal.val
    item = value.item() if hasattr(value, "item") and getattr(value, "size", 1) == 1 else value
    # JAX has subclasses of numbers that remember a dtype; the type of the value says that already.
    if isinstance(item, bool | str | None):
        return item
    if isinstance(item, int):
        return int(item)
    if isinstance(item, float):
        return float(item)
    return complex(item) if isinstance(item, complex) else str(item)
