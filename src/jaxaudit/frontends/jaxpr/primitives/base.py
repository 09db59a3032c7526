"""What a row of the lowering table is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.ir import Argument, ArrayType


class Equation(NamedTuple):
    """An equation whose operands are values or constants of the program."""

    name: str
    params: Mapping[str, Any]
    inputs: tuple[Argument, ...]
    invars: Sequence[Any]
    outvars: Sequence[Any]

    def shape(self, position: int = 0) -> tuple[int, ...]:
        """Return the shape of an operand."""
        found = compat.type_of(self.invars[position]) if position < len(self.invars) else None
        return found.shape if found is not None else ()

    @property
    def in_types(self) -> Iterator[ArrayType | None]:
        """The types of the operands."""
        return map(compat.type_of, self.invars)

    @property
    def out_type(self) -> ArrayType | None:
        """The type of the first result."""
        return compat.type_of(self.outvars[0]) if self.outvars else None

    @property
    def out_shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        found = self.out_type
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
        """Return the name of the function for one equation."""
        return self.function if self.spell is None else self.spell(equation)


def named(*names: str) -> Build:
    """Make the builder that gives operands these names, in order; further ones are numbered."""

    def build(equation: Equation) -> Mapping[str, Argument]:
        given = equation.inputs
        made = dict(zip(names, given, strict=False))
        for i in range(len(names), len(given)):
            made[f"operand{i}"] = given[i]
        return made

    return build


def taking(array: str, **params: str) -> Build:
    """Make the builder that names the one operand, and the axes and sizes that the equation has under other names."""
    return lambda equation: {
        array: equation.inputs[0],
        **{name: sizes(equation.params[param]) for name, param in params.items()},
    }


def sizes(item: Any) -> Argument:
    """Return axes or sizes, or one of them, as plain numbers."""
    return numbers(item) if isinstance(item, _SEQUENCES) else number(item)


def numbers(items: Iterable[Any]) -> tuple[int, ...]:
    """Return axes, sizes and indices as plain numbers."""
    return tuple(number(item) for item in items)


def number(item: Any) -> int:
    """Return one axis or size as a plain number; a symbolic size is -1."""
    return int(item) if hasattr(item, "__index__") else -1


def plain(item: Any) -> Argument:
    """Return a parameter of an equation as a constant of the IR."""
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
    """Return a literal of a jaxpr as a constant of the IR."""
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
