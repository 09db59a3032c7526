"""What the markers write down: one record for each call of a transformation while something was being traced.

A record's number is in the name of the scope that was open during the call, so every equation the call made carries it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from jaxaudit.spans import Span

SCOPE = "jaxaudit#"
"""Starts the name of the scopes that carry a record's number."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array that crosses a boundary: where it sits in its pytree, and its shape on the inner side."""

    path: str
    shape: tuple[int, ...]
    dtype: str
    argument: int | str = 0
    """Which argument of the function it belongs to: a position or a keyword."""


@dataclass(slots=True)
class Record:
    """One call of a transformation."""

    uid: int
    kind: str
    """`vmap`, `grad`, `value_and_grad`, `scan`, `cond`, ..."""
    function: str
    """The name of the transformed function."""
    options: Mapping[str, Any]
    span: Span
    """The user's call."""
    leaves: dict[tuple[str, int], Leaf] = field(default_factory=dict)
    """The marked leaves by side (`in`, `out`, `post`) and position among all leaves of that side."""
    parameters: list[str] = field(default_factory=list)
    """The names of the transformed function's parameters."""
    out_axes: list[int | None] | None = None
    """Of `vmap`: the axis of each leaf of the result."""
    turn: tuple[str, ...] = ()
    """Of a loop: what its body calls each leaf that it is given."""
    carried: tuple[str, ...] = ()
    """Of a loop: where each carried leaf sits in what the loop gives."""


@dataclass(slots=True)
class Records:
    """All records of a process, by number."""

    by_uid: dict[int, Record] = field(default_factory=dict)
    _next: count[int] = field(default_factory=lambda: count(1))

    def new(self, kind: str, function: str, options: Mapping[str, Any], span: Span) -> Record:
        """Make a record with the next number."""
        record = Record(next(self._next), kind, function, options, span)
        self.by_uid[record.uid] = record
        return record

    def in_scope(self, name: str) -> Record | None:
        """Return the record that a scope's name stands for."""
        if not name.startswith(SCOPE):
            return None
        number = name[len(SCOPE) :]
        return self.by_uid.get(int(number)) if number.isdigit() else None


RECORDS = Records()
"""The records of this process; jaxprs that JAX keeps in its caches may name any of them."""
