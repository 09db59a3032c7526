"""Values: what ops take and make, and the constants that stand among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from jaxaudit.spans import Span

REST = "..."
"""Any number of axes, among declared names, in patterns and in an index."""


@dataclass(slots=True, eq=False)
class Value:
    """One value that exists while the program runs: an array, a key, or any Python object that was not taken apart."""

    id: int
    span: Span
    name: str = ""
    """The name people know it by: the first variable, parameter or attribute it was bound to."""

    def __repr__(self) -> str:
        return f"%{self.id}" + (f":{self.name}" if self.name else "")


class Symbol(str):
    """A library name given as an argument, such as `jax.numpy.float32`."""

    __slots__ = ()


Argument = Value | int | float | complex | str | bytes | bool | None | tuple["Argument", ...] | Mapping[str, "Argument"]
"""How one argument of an op looks: a value, a constant, or a structure of these."""


def is_integer(argument: object) -> TypeGuard[int]:
    """Whether something is a whole number that is written down, whatever name it goes by: a `bool` is none."""
    return isinstance(argument, int) and not isinstance(argument, bool)


def index_parts(index: Argument) -> tuple[Argument, ...]:
    """Return what stands in the brackets of an index, part by part."""
    return index if isinstance(index, tuple) else (index,)


def leaves_nothing_out(index: Argument) -> bool:
    """Whether an index such as `[:, None]` gives all elements of an array back."""
    parts = index_parts(index)
    return all(part in (None, REST) or (isinstance(part, Mapping) and not any(part.values())) for part in parts)


def is_whole(part: Argument) -> bool:
    """Whether a part of an index is `:`, which leaves an axis as it is."""
    return isinstance(part, Mapping) and all(bound is None for bound in part.values())


def texts_in(argument: Argument) -> Iterator[str]:
    """Return the texts inside an argument, in order."""
    if isinstance(argument, str):
        yield argument
    for part in argument if isinstance(argument, tuple) else ():
        yield from texts_in(part)


class Size(int):
    """An integer constant that goes by a name: `NUM_ENVS = 8`, `{"num_steps": 64}`, `def f(width=16)`.

    It is the integer in every respect. Two sizes of one `scope` (a module, a dict, a parameter list) with different
    names are two things to the author, whatever their values. A number that is
    computed of sizes has no name before it gets one.
    """

    name: str
    scope: str
    of: tuple[Size, ...]
    """The sizes it was computed of."""
    how: str
    """`part`: by floor division; `multiple`: by multiplication; `sum`: by addition; empty where it was written down."""

    def __new__(cls, number: int, name: str, scope: str, of: tuple[Size, ...] = (), how: str = "") -> Size:
        """Make a size."""
        made = super().__new__(cls, number)
        made.name = name
        made.scope = scope
        made.of = of
        made.how = how
        return made

    def __repr__(self) -> str:
        return int.__repr__(self)
