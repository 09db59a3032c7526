"""What an analysis is: a domain says what one op does to facts, the solver does the rest.

A fact belongs to a value and never changes: the form is single assignment, so there is no state to carry along. A
domain is a table from op names to transfer functions plus a handful of questions that ops with regions raise.

A *forward* domain says what a value is from what it was made of, a *backward* one what becomes of it from what reads
it. Both have the same shape, with the ends exchanged:

| | forward | backward |
|---|---|---|
| a transfer function gives facts of | the results of an op | its operands |
| `enter` gives facts of | the parameters of a region | its results |
| `leave` gives facts of | the results of an op with regions | its operands |

Backward, a value may have been read before (later in the program): what a domain gives for it holds before the op and
covers what `read` gives for it, which holds after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Generic, Protocol, TypeVar

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.record import record

Fact = TypeVar("Fact")

Read = Callable[[Value], Fact]
"""Gives the fact of a value: of one made before, or, backward, of one that is read later."""

Transfer = Callable[[Op, Read[Fact]], Sequence[Fact | None]]
"""Gives a fact for each result (backward: operand) of an op without regions; `None` where nothing is known."""


class Direction(Enum):
    """Which way facts go through a program."""

    FORWARD = "forward"
    BACKWARD = "backward"


class Domain(Protocol[Fact]):
    """One kind of fact about values.

    Regions are treated in one of two ways. *By summary*: every region is solved once; where its parameters stand for
    themselves, `leave` puts the real operands in. *By context*: a region is solved for the facts of its operands (a
    shared one once for equal facts), and loops are solved again until nothing changes.
    """

    name: str
    direction: Direction
    by_summary: bool
    widen_after: int
    """The turn of a loop from which on facts are widened; most domains say `WIDEN_AFTER`."""

    @property
    def table(self) -> Mapping[str, Transfer[Fact]]:
        """The transfer functions by op name; an op that is not in it says nothing."""
        ...

    def unknown(self, value: Value) -> Fact:
        """Return the fact of a value nothing is known of; backward, of one that nothing in the program reads."""
        ...

    def join(self, first: Fact, second: Fact) -> Fact:
        """Return the fact that covers both: idempotent, commutative and associative."""
        ...

    def widen(self, old: Fact, new: Fact) -> Fact:
        """Return a fact that covers both and makes every rising sequence end."""
        ...

    def parts(self, start: Fact, left: Fact) -> bool:
        """Whether the first turn of a loop is told apart, by what it begins with and leaves; else see `never_parts`."""
        ...

    def enter(self, op: Op, region: Region, read: Read[Fact], turn: int) -> Sequence[Fact]:
        """Return the facts with which a region is begun.

        In turn 0 they come from outside of the op; in a later turn of a loop, from what the turn before left behind.
        """
        ...

    def leave(self, op: Op, read: Read[Fact]) -> Sequence[Fact | None]:
        """Return the facts outside of an op once its regions are solved."""
        ...

    def taken(self, op: Op, read: Read[Fact]) -> int | None:
        """Return the only branch that runs in this context, where the domain can tell; else see `any_branch`."""
        ...

    def place(self) -> object:
        """Return what tells contexts apart that the parameters do not show; else see `anywhere`."""
        ...

    def part(self, facts: Facts, /) -> Program:
        """Return the part of the program that is to be solved: nothing is to be known of the rest; else see `whole`."""
        ...

    def at_once(self, facts: Facts, /) -> object | None:
        """Return what `finish` would, where that is known without solving; else see `not_at_once`."""
        ...

    def finish(self, facts: Facts, /, solution: Solution[Fact]) -> object:
        """Make what rules read from the facts of all values."""
        ...


@record
class Solution(Generic[Fact]):
    """The facts of all values; a value that is missing has the domain's unknown fact."""

    domain: Domain[Fact]
    facts: Mapping[Value, Fact]

    def of(self, value: Value) -> Fact:
        """Return the fact of a value, covering every context it was seen in."""
        fact = self.facts.get(value)
        return self.domain.unknown(value) if fact is None else fact


MAX_TURNS = 12
"""After so many turns a loop's facts are given up; widening makes this rare."""

MAX_CONTEXTS = 6
"""A shared body that was solved for so many different operands is solved once more for unknown ones, and no more."""

WIDEN_AFTER = 3
"""After so many turns of a loop facts are widened, unless the domain says otherwise."""


def any_branch(domain: object, op: Op, read: Callable[[Value], object]) -> None:
    """Return that any branch may run: the `taken` of a domain that cannot decide conditions."""


def never_parts(domain: object, start: object, left: object) -> bool:
    """Return that what a loop begins with goes with what it leaves: the `parts` of most domains."""
    return False


def anywhere(domain: object) -> None:
    """Return that parameters alone tell contexts apart: the `place` of most domains."""


def whole(domain: object, facts: Facts) -> Program:
    """Return the whole program: the `part` of most domains."""
    return facts.program


def not_at_once(domain: object, facts: Facts) -> None:
    """Return that nothing is known before all is solved: the `at_once` of most domains."""


def grow(domain: Domain[Fact], turn: int, old: Fact, new: Fact) -> Fact:
    """Return what covers two turns of a loop, or the second alone where the first is told apart."""
    if turn == 1 and domain.parts(old, new):
        return new
    return domain.join(old, new) if turn < domain.widen_after else domain.widen(old, new)
