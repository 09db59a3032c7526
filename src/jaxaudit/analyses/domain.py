"""What an analysis is: a domain says what one op does to facts, the solver does the rest.

A fact belongs to a value and never changes: the form is single assignment, so there is no state to carry along. A
domain is a table from op names to transfer functions plus a handful of questions that ops with regions raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from jaxaudit.ir import Op, Program, Region, Value

if TYPE_CHECKING:
    from jaxaudit.analyses.solve import Solution

Fact = TypeVar("Fact")

Read = Callable[[Value], Fact]
"""Gives the fact of a value that was made before."""

Transfer = Callable[[Op, Read[Fact]], Sequence[Fact | None]]
"""Gives a fact for each result of an op without regions; `None` where nothing is known."""


class Domain(Protocol[Fact]):
    """One kind of fact about values.

    Regions are treated in one of two ways. *By summary*: every region is solved once; where its parameters stand for
    themselves, `leave` puts the real operands in. *By context*: a region is solved for the facts of its operands (a
    shared one once for equal facts), and loops are solved again until nothing changes.
    """

    name: str
    by_summary: bool

    @property
    def table(self) -> Mapping[str, Transfer[Fact]]:
        """The transfer functions by op name; an op that is not in it makes values nothing is known of."""
        ...

    def unknown(self, value: Value) -> Fact:
        """Return the fact of a value nothing is known of."""
        ...

    def join(self, first: Fact, second: Fact) -> Fact:
        """Return the fact that covers both: idempotent, commutative and associative."""
        ...

    def widen(self, old: Fact, new: Fact) -> Fact:
        """Return a fact that covers both and makes every rising sequence end."""
        ...

    def enter(self, op: Op, region: Region, read: Read[Fact], turn: int) -> Sequence[Fact]:
        """Return the facts of a region's parameters.

        In turn 0 they come from the op's operands; in a later turn of a loop, from what the turn before left behind.
        """
        ...

    def leave(self, op: Op, read: Read[Fact]) -> Sequence[Fact | None]:
        """Return the facts of an op's results once its regions are solved."""
        ...

    def finish(self, program: Program, solution: Solution[Fact]) -> object:
        """Make what rules read from the facts of all values."""
        ...


@dataclass(frozen=True, slots=True)
class Facts:
    """All domains that were solved for one program."""

    program: Program
    solved: Mapping[str, object]

    def of(self, name: str) -> object:
        """Return what one domain found; asking for a domain that no rule declared is a mistake in the rule."""
        if name not in self.solved:
            raise KeyError(f"no facts of domain {name!r}: declare it in the rule's `needs`")
        return self.solved[name]
