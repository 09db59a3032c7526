"""Which names each scope of a program reads, and which of them may have no value then: what syntax alone tells."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from jaxaudit.spans import Span


class Sure(IntEnum):
    """How sure it is that a name has no value where it is read."""

    OPEN = 1
    """A path without a value exists on paper; whether anything takes it is not known."""
    LIKELY = 2
    """Nothing in sight rules the path out."""
    CERTAIN = 3
    """Whoever gets there, or takes a branch that was written to be taken, meets no value."""


@dataclass(frozen=True, slots=True)
class Unbound:
    """A name that is read where it may have no value."""

    name: str
    span: Span
    sure: Sure
    why: str
    """Where and how the value is missing, as a sentence."""
    cause: Span | None = None
    """What decides it: the branch, the loop."""


@dataclass(frozen=True, slots=True)
class ScopeReads:
    """The names that a function, class or module reads."""

    label: str
    span: Span
    count: int
    """How many reads there are."""
    unbound: tuple[Unbound, ...] = ()
