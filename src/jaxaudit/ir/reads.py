"""Which names each scope of a program reads, and which of them may have no value then: what syntax alone tells."""

from __future__ import annotations

from enum import IntEnum

from jaxaudit.ir.record import record
from jaxaudit.spans import Span


class Sure(IntEnum):
    """How sure it is that a name has no value where it is read."""

    OPEN = 1
    """A path without a value exists on paper; whether anything takes it is not known."""
    LIKELY = 2
    """Nothing in sight rules the path out."""
    CERTAIN = 3
    """Whoever gets there, or takes a branch that was written to be taken, meets no value."""


@record
class Unbound:
    """A name that is read where it may have no value."""

    name: str
    span: Span
    sure: Sure
    why: str
    """Where and how the value is missing, as a sentence."""
    cause: Span | None = None
    """What decides it: the branch, the loop."""


@record
class Dead:
    """A value that a name is given and that nothing reads."""

    name: str
    span: Span
    made: Span | None
    """The expression that gives the value, where it is the whole of it."""
    param: bool = False
    """Whether a caller gives it."""
    instead: tuple[tuple[str, Span], ...] = ()
    """What the value was made of and where that is read afterwards, as it was."""
    again: Span | None = None
    """Where the name is bound next."""
    renews: bool = False
    """Whether the value is made of what the name held before."""
    others: int = 0
    """How many other values the name is given."""


@record
class Renewed:
    """A value that a loop gives to a variable, while it calls a function that was made of an earlier one."""

    name: str
    span: Span
    calls: tuple[tuple[Span, Span], ...]
    """The calls in the loop, each with the expression that made the function."""
    dead: bool
    """Whether nothing reads the new value."""


@record
class ScopeReads:
    """The names that a function, class or module reads."""

    label: str
    span: Span
    count: int
    """How many reads there are."""
    unbound: tuple[Unbound, ...] = ()
    dead: tuple[Dead, ...] = ()
    bound: int = 0
    """How many values are computed and given a name that nothing else can read."""
    renewed: tuple[Renewed, ...] = ()
    unsure: str = ""
    """A name with several values, of which functions inside read one or another."""
