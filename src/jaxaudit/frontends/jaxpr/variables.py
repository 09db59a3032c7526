"""The names of the user's variables: which name a value is bound to, by the place of the expression that makes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jaxaudit.spans import Span

_Place = tuple[int, int, int, int]
_Names = dict[_Place, tuple[str, ...]]


def name_at(span: Span) -> str:
    """Give the variable that the expression at a place is assigned to, empty when there is none."""
    names = _bound(span.path).get(span[1:], ())
    return names[0] if len(names) == 1 else ""


def names_at(span: Span) -> tuple[str, ...]:
    """Give the variables that the value at a place is unpacked into."""
    return _bound(span.path).get(span[1:], ())


def name_of_leaf(span: Span, path: str) -> str:
    """Name one leaf of what the expression at a place gives: `[0].time` is `state.time` in `state, obs = ...`."""
    table = _leaves(span.path).get(span[1:], {})
    for end in _ends(path):
        found = table.get(path[:end])
        if found:
            return "" if found == "_" else found + path[end:]
    return ""


def _ends(path: str) -> Iterator[int]:
    """Give where a path may be cut, longest first."""
    yield len(path)
    yield from (place for place in range(len(path) - 1, -1, -1) if path[place] in ".[")


@cache
def text_of(path: str) -> str:
    """Read a file of the user's, empty when it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


@cache
def _bound(path: str) -> _Names:
    found: _Names = {}
    for target, value in _assignments(path):
        _bind(found, target, value)
    return found


@cache
def _leaves(path: str) -> dict[_Place, dict[str, str]]:
    """Give for each assigned expression the variable that each part of it goes to, by its path."""
    return {_place(value): dict(_parts(target, "")) for target, value in _assignments(path)}


def _parts(target: ast.expr, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(target, ast.Name):
        yield path, target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for number, part in enumerate(target.elts):
            if isinstance(part, ast.Starred):
                return
            yield from _parts(part, f"{path}[{number}]")


@cache
def _assignments(path: str) -> tuple[tuple[ast.expr, ast.expr], ...]:
    try:
        tree = ast.parse(text_of(path))
    except (SyntaxError, ValueError, RecursionError):
        return ()
    found: list[tuple[ast.expr, ast.expr]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            found.extend((target, node.value) for target in node.targets)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            found.append((node.target, node.value))
    return tuple(found)


def _bind(found: _Names, target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Name):
        found[_place(value)] = (target.id,)
    elif isinstance(target, ast.Tuple | ast.List):
        names = tuple(item.id if isinstance(item, ast.Name) else "" for item in target.elts)
        found[_place(target)] = found[_place(value)] = names
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
            for inner, part in zip(target.elts, value.elts, strict=True):
                _bind(found, inner, part)


def _place(node: ast.expr) -> _Place:
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
