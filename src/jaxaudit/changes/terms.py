"""What a program computes, as terms that two programs share: however it is named, ordered, or spread over functions.

A term is a number that stands for a function of other terms. What computes the same of the same has the same term, so
where a term of one program is one of the other, nothing changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jaxaudit.ir.functions import IDENTITIES, MIRRORED, ORDERLESS, SIZES

INPUT, CONSTANT, CARRY, ELEMENT, PART, TURNS = "input", "constant", "carry", "element", "part", "turns"
FULL = "full"
"""An array of one number that is written down."""


class Term(NamedTuple):
    """A function of other terms."""

    label: str
    """What is computed: the function, or the op where it is a call of none."""
    options: tuple[tuple[str, str], ...]
    """How: everything that is written down and no value."""
    inputs: tuple[int, ...]


@dataclass
class Terms:
    """All terms of two programs, by number."""

    all: list[Term] = field(default_factory=list)
    _numbers: dict[Term, int] = field(default_factory=dict)
    _leaves: dict[int, frozenset[int]] = field(default_factory=dict)

    def number(self, label: str, inputs: Sequence[int] = (), options: Sequence[tuple[str, str]] = ()) -> int:
        """Return the number of a term, written in one of the ways that mean the same."""
        match label, [self.all[one] for one in inputs]:
            case name, [_] if name in IDENTITIES:
                return inputs[0]
            case (("select" | "where"), [asked, _, _]):
                negated = asked.label == "not"
                label, inputs = "where", (asked.inputs[0], inputs[2], inputs[1]) if negated else inputs
            case "not", [Term("not", inputs=(inner,))]:
                return inner
            case "attr", [Term("element", how, (inner,))]:
                return self.number("element", (self.number("attr", (inner,), options),), how)
            case "T", _:
                label = "transpose"
            case "square", _:
                label, inputs = "multiply", (*inputs, *inputs)
            case "power", [_, Term("constant", (("value", "2"),))]:
                label, inputs = "multiply", (inputs[0], inputs[0])
            case (("greater" | "greater_equal"), [_, _]):
                label, inputs = MIRRORED[label], inputs[::-1]
            case _:
                pass
        ordered = tuple(sorted(inputs) if label in ORDERLESS else inputs)
        term = Term(label, tuple(options), ordered)
        number = self._numbers.setdefault(term, len(self.all))
        if number == len(self.all):
            self.all.append(term)
            self._leaves[number] = self._below(number, term)
        return number

    def leaves(self, number: int) -> frozenset[int]:
        """Return the inputs, and parts of inputs, that the value of a term depends on, with what loops carry."""
        return self._leaves[number]

    def _below(self, number: int, term: Term) -> frozenset[int]:
        sized = term.label == "attr" and term.options[0][1] in SIZES
        if sized or term.label in (*SIZES, FULL, CONSTANT):
            return frozenset()
        taken = term.label in ("attr", PART) and self._leaves[term.inputs[0]] == {term.inputs[0]}
        if term.label == INPUT or taken:
            return frozenset({number})
        some = [self._leaves[one] for one in term.inputs]
        largest = max(some, key=len, default=frozenset[int]())
        below = largest if all(one <= largest for one in some) else largest.union(*some)
        return below | {number} if term.label == CARRY else below

    def inside(self, number: int) -> set[int]:
        """Return a term and all that it is made of."""
        found, waiting = {number}, [number]
        while waiting:
            new = [one for one in self.all[waiting.pop()].inputs if one not in found]
            found.update(new)
            waiting += new
        return found

    def within(self, number: int, of: int) -> bool:
        """Whether a term is a part of another."""
        waiting, seen = [of], {of}
        while waiting:
            for one in self.all[waiting.pop()].inputs:
                if one == number:
                    return True
                # Terms are numbered from the inside out.
                if one > number and one not in seen:
                    seen.add(one)
                    waiting.append(one)
        return False
