"""Which file and which line of one state is which of the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from jaxaudit.changes.forms import Forms, Place, module_names
from jaxaudit.changes.states import Comparison, State
from jaxaudit.discover import decode_file
from jaxaudit.frontends.base import SourceFile

_ALIKE = 0.5
"""The share of lines that a file must keep to be the same file under another name, as git has it."""


@dataclass(frozen=True, slots=True)
class Line:
    """The line of the later state that one of the earlier state became."""

    number: int
    same: bool
    """Whether it says the same, but for layout."""


@dataclass
class Side:
    """One of two states, with the forms of its files."""

    state: State
    modules: frozenset[str]
    _forms: dict[bytes, Forms] = field(default_factory=dict)

    def forms(self, path: str) -> Forms:
        """Return the forms of a file; those of an empty one where there is no such file."""
        data = self.state.files.get(path, b"")
        if data not in self._forms:
            self._forms[data] = Forms(text_of(self.state, path), self.modules)
        return self._forms[data]

    def place(self, path: str, line: int, column: int) -> Place:
        """Return what stands at a place."""
        return self.forms(path).at(line, column)


@dataclass
class Alignment:
    """Two states side by side."""

    before: Side
    after: Side
    renamed: Mapping[str, str]
    """The new name of each file that has another one now."""
    _lines: dict[str, Mapping[int, Line]] = field(default_factory=dict)
    _kept: dict[str, set[int]] = field(default_factory=dict)

    def path(self, before: str) -> str:
        """Return the name that a file has now."""
        return self.renamed.get(before, before)

    def is_same(self, before: str) -> bool:
        """Whether a file says the same under the same name."""
        return self.before.state.files.get(before) == self.after.state.files.get(before)

    def line(self, before: str, number: int) -> Line | None:
        """Return the line of the later state that a line of the earlier one became, None where it is gone."""
        if self.is_same(before):
            return Line(number, same=True)
        if before not in self._lines:
            old, new = self.before.forms(before).lines, self.after.forms(self.path(before)).lines
            self._lines[before] = _aligned(old, new)
        return self._lines[before].get(number)

    def is_changed(self, after: str, number: int) -> bool:
        """Whether a line of the later state is not one that the earlier state has too."""
        if self.is_same(after):
            return False
        if after not in self._kept:
            before = next((old for old, new in self.renamed.items() if new == after), after)
            lines = (self.line(before, at) for at, _ in enumerate(self.before.forms(before).lines, 1))
            self._kept[after] = {one.number for one in lines if one is not None and one.same}
        return number not in self._kept[after]


def align(comparison: Comparison) -> Alignment:
    """Put two states side by side."""
    before, after = comparison.before, comparison.after
    modules = module_names([*before.files, *after.files])
    # What is the same in both states is parsed once.
    forms: dict[bytes, Forms] = {}
    return Alignment(Side(before, modules, forms), Side(after, modules, forms), renames(before, after))


def renames(before: State, after: State) -> dict[str, str]:
    """Return the new name of each file that has another one now: the one that keeps most of its lines."""
    gone = [path for path in before.files if path not in after.files]
    come = [path for path in after.files if path not in before.files]
    if not gone or not come:
        return {}
    new = {path: Counter(text_of(after, path).split("\n")) for path in come}
    found: dict[str, str] = {}
    for path in gone:
        old = Counter(text_of(before, path).split("\n"))
        shares = {other: (old & lines).total() / max(old.total(), lines.total()) for other, lines in new.items()}
        best = max(shares, key=lambda other: shares[other], default="")
        if best and shares[best] >= _ALIKE:
            found[path] = best
            del new[best]
    return found


def text_of(state: State, path: str) -> str:
    """Return the text of a file, empty where there is none or it cannot be decoded."""
    data = state.files.get(path)
    file = decode_file(path, data) if data is not None else None
    return file.text if isinstance(file, SourceFile) else ""


def _aligned(old: Sequence[str], new: Sequence[str]) -> Mapping[int, Line]:
    """Align the lines of two texts; in a stretch that was rewritten, line by line as far as both go."""
    found: dict[int, Line] = {}
    for kind, start, end, other, other_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind in {"equal", "replace"}:
            for step in range(min(end - start, other_end - other)):
                found[start + step + 1] = Line(other + step + 1, kind == "equal")
    return found
