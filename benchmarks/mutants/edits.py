"""Small edits of a file by its syntax tree: what a mutant is, and helpers to find and replace nodes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

Node = ast.expr | ast.stmt | ast.keyword | ast.arg


@dataclass(frozen=True, slots=True)
class Edit:
    """One stretch of a file and what replaces it. Line numbers stay: no edit adds or removes a line break."""

    node: Node
    replacement: str


@dataclass(frozen=True)
class File:
    """A Python file with its syntax tree."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def _lines(self) -> list[bytes]:
        return self.text.encode().splitlines(keepends=True)

    @cached_property
    def functions(self) -> list[ast.FunctionDef]:
        """All functions, outer ones first."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)]

    def source(self, node: Node) -> str:
        """Return the text of a node."""
        return ast.get_source_segment(self.text, node) or ""

    def edited(self, edit: Edit) -> str:
        """Return the text with an edit made; the lines that the node took are kept as empty ones."""
        node = edit.node
        start = sum(map(len, self._lines[: node.lineno - 1])) + node.col_offset
        end = sum(map(len, self._lines[: (node.end_lineno or node.lineno) - 1])) + (node.end_col_offset or 0)
        data = self.text.encode()
        lost = data[start:end].count(b"\n") - edit.replacement.count("\n")
        # Inside brackets a line break means nothing, so those that are lost are put back there.
        return (
            data[:start] + b"(" * bool(lost) + edit.replacement.encode() + b"\n" * lost + b")" * bool(lost) + data[end:]
        ).decode()


def calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    """Return all calls of functions by the last part of their names."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call) and called(node) in names)


def called(call: ast.Call) -> str:
    """Return the last part of the name of what is called."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    """Return an argument by its name."""
    return next((one for one in call.keywords if one.arg == name), None)


def names_read(node: ast.AST, where: Callable[[ast.Name], bool] = lambda name: True) -> Iterator[ast.Name]:
    """Return every variable that is read in a node."""
    return (one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and where(one))


def read_after(function: ast.FunctionDef, name: str, line: int) -> list[ast.Name]:
    """Return the places of a function where a variable is read below a line."""
    return sorted(names_read(function, lambda one: one.id == name and one.lineno > line), key=lambda one: one.lineno)


def unpackings(function: ast.FunctionDef) -> Iterator[tuple[ast.Tuple, ast.Call]]:
    """Return the assignments of a function's own body that take the results of a call apart: `a, b = f(...)`."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Tuple() as target], value=ast.Call() as call):
                yield target, call
