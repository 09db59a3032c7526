"""What every kind of lead is given and what it gives."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Value
from jaxaudit.reports.identity import Outline, Sources, enclosing, outline_of, parsed
from jaxaudit.reports.types_text import inferred_types, type_text
from jaxaudit.spans import Span

_LONGEST = 48


class Fact(NamedTuple):
    """One fact with its place, and how often such a fact tells of a mistake, from 1 to 9."""

    span: Span
    text: str
    weight: int


@dataclass(frozen=True)
class Look:
    """What leads are read from: the facts of the source, and its text."""

    facts: Facts
    sources: Sources
    paths: frozenset[str]
    """The files that are audited."""
    _parsed: dict[str, tuple[Sequence[ast.AST], Outline]] = field(default_factory=dict)

    @cached_property
    def functions(self) -> frozenset[str]:
        """The names of the functions that the audited files define."""
        found = (node for path in self.paths for node in self.nodes(path))
        return frozenset(one.name for one in found if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))

    def nodes(self, path: str) -> Sequence[ast.AST]:
        """Return the syntax of a file, outer nodes first; none where it cannot be parsed."""
        return self._file(path)[0]

    def function_at(self, span: Span) -> str:
        """Return the function around a place, empty at the top level."""
        return enclosing(self._file(span.path)[1], span.line)

    def _file(self, path: str) -> tuple[Sequence[ast.AST], Outline]:
        if path not in self._parsed:
            tree = parsed(self.sources(path).text)
            places = outline_of(tree)
            self._parsed[path] = (tuple(ast.walk(tree)) if places else (), places)
        return self._parsed[path]

    def written(self, span: Span) -> str:
        """Return an expression as it stands in the file; empty where it is too long to be shown."""
        text = self.sources(span.path)
        start, end = (text.code_point_column(span.line, one) for one in (span.column, span.end_column))
        found = text.line(span.line)[start:end] if span.line == span.end_line else ""
        return found if len(found) <= _LONGEST else ""

    def shown(self, value: Value) -> str:
        """Return a value with its type, as far as both are known: `x f32[8,3]`."""
        kind = type_text(inferred_types(self.facts.get(Shapes))(value))
        name = f"`{value.name}`" if value.name else ""
        return " ".join(one for one in (name, kind) if one)


Collect = Callable[[Look], Iterator[Fact]]
"""Lists the facts of one kind; its name is the name of the kind."""


def listed(names: Sequence[str], most: int = 3) -> str:
    """Write some names, the first few of them."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
