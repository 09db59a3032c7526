"""What an operator is, and the list of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.mutants.edits import Edit, File

Edits = Callable[[File], Iterator[Edit]]


@dataclass(frozen=True, slots=True)
class Operator:
    """One kind of mistake."""

    name: str
    family: str
    """The family of rules whose matter it is."""
    does: str
    mistake: str
    """The condition that makes it a mistake."""
    edits: Edits
    denies: tuple[str, ...] = ()
    """The rules whose proof at the place of the mistake is wrong."""


OPERATORS: list[Operator] = []


def operator(family: str, mistake: str, *denies: str) -> Callable[[Edits], Edits]:
    """List a function as an operator; its docstring says what it does, `denies` which proofs it refutes."""

    def listed(edits: Edits) -> Edits:
        name = getattr(edits, "__name__", "").replace("_", "-")
        OPERATORS.append(Operator(name, family, (edits.__doc__ or "").strip(), mistake, edits, denies))
        return edits

    return listed
