"""What terms are called where people read of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jaxaudit.changes.terms import CARRY, CONSTANT, ELEMENT, INPUT, PART, Terms

_WORDS = {
    "py.item": "an index",
    "py.branch": "a branch",
    "py.join": "a branch",
    "py.loop": "a loop",
    "py.while": "a loop",
    CARRY: "a loop",
    "fori": "a loop",
    "while": "a loop",
    "py.container": "a tuple",
    "py.call_unknown": "a call",
    "py.unknown": "a call",
    ELEMENT: "a map",
    "vmap": "a map",
    "tree.leaf": "a library",
    "not": "`not`",
}
"""What is no function that anybody calls."""
_MOST_NAMES = 3


@dataclass(frozen=True)
class Names:
    """The names that one program has for terms."""

    terms: Terms
    names: Mapping[int, str]

    def of(self, number: int) -> str:
        """Return what a value is called: its own name, the way to it, or what makes it."""
        term = self.terms.all[number]
        match term.label:
            case "attr":
                whole = self.of(term.inputs[0])
                return f"{whole[:-1]}.{term.options[0][1]}`" if whole.startswith("`") else f"`{term.options[0][1]}`"
            case _ if number in self.names:
                return f"`{self.names[number]}`"
            case "input" | "constant":
                return f"`{term.options[0][1]}`" if term.options[0][1] else "a value"
            case "part":
                return self.part(number)
            case "element" | "carry" if term.inputs:
                return self.of(term.inputs[0])
        return f"the result of {self.maker(number)}"

    def part(self, number: int) -> str:
        """Return what a result of several is called: by its place."""
        term = self.terms.all[number]
        if term.label != PART:
            return self.of(number)
        return f"result {int(term.options[0][1]) + 1} of {self.maker(number)}"

    def all(self, numbers: Iterable[int]) -> str:
        """Return what some values are called, the first few of them."""
        names = list(dict.fromkeys(map(self.of, sorted(numbers))))
        rest = len(names) - _MOST_NAMES
        return ", ".join(names[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")

    def maker(self, number: int) -> str:
        """Return what makes a value: the function, however its result is taken apart."""
        term = self.terms.all[number]
        if term.label == PART:
            return self.maker(term.inputs[0])
        return self.of(number) if term.label in (INPUT, CONSTANT, "attr") else self.function(term.label)

    def function(self, label: str) -> str:
        """Return what a function is called."""
        return _WORDS.get(label) or f"`{label.rpartition('.')[2]}`"


def index(text: str) -> str:
    """Return an index as it is written in brackets."""
    return f"[{text.removeprefix('(').removesuffix(')')}]" if text != "not given" else "[...]"


def mapped(axis: str | None) -> str:
    """Return how an argument of a map is mapped."""
    return "shared by all" if axis == "None" else f"mapped over axis {axis or 0}"
