"""The names of the user's variables: which name a value is bound to, by the place of the expression that makes it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from jaxaudit.spans import Span

_Place = tuple[int, int, int, int]
_Names = dict[_Place, tuple[str, ...]]


def name_at(span: Span) -> str:
    """Return the variable that the expression at a place is assigned to, empty when there is none."""
    names = _bound(span.path).get(span[1:], ())
    return names[0] if len(names) == 1 else ""


def names_at(span: Span) -> tuple[str, ...]:
    """Return the variables that the value at a place is unpacked into."""
    return _bound(span.path).get(span[1:], ())


def name_of_leaf(span: Span, path: str) -> str:
    """Name one leaf of what the expression at a place gives: `[0].time` is `state.time` in `state, obs = ...`."""
    table = _leaves(span.path).get(span[1:], {})
    for end in _ends(path):
        found = table.get(path[:end])
        if found:
            return "" if found == "_" else found + path[end:]
    return ""


class Returned(NamedTuple):
    """What a function returns: the place and, where it is a variable, the name of each element."""

    places: tuple[_Place, ...]
    names: tuple[str, ...]


def result_names(call: Span, function: Span, *, ends: bool = True) -> Callable[[Span, str], str]:
    """Return how a call names what the called function makes: by the element of its `return` that it is.

    What cannot be told has the name of the whole, where the call is bound to a single one and the expression ends
    with it.
    """
    targets, returned = names_at(call), _returns(function.path).get(function.line)
    whole = targets[0] if len(targets) == 1 and ends else ""
    if not ends:
        return lambda span, name: ""
    if returned is None or len(returned.places) != len(targets):
        return lambda span, name: "" if name else whole
    by_place = dict(zip(returned.places, targets, strict=True))
    by_name = {own: target for own, target in zip(returned.names, targets, strict=True) if own}
    return lambda span, name: by_place.get(span[1:]) or by_name.get(name) or ("" if name else whole)


@cache
def _returns(path: str) -> dict[int, Returned]:
    """Return what the functions of a file return, by their first line, for those that return in one place."""
    found: dict[int, Returned] = {}
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            own = list(_own_returns(node))
            if len(own) == 1 and own[0].value is not None:
                value = own[0].value
                parts = value.elts if isinstance(value, ast.Tuple) else [value]
                line = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                names = tuple(one.id if isinstance(one, ast.Name) else "" for one in parts)
                found[line] = Returned(tuple(map(_place, parts)), names)
    return found


def _own_returns(function: ast.AST) -> Iterator[ast.Return]:
    for child in ast.iter_child_nodes(function):
        if isinstance(child, ast.Return):
            yield child
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield from _own_returns(child)


def _ends(path: str) -> Iterator[int]:
    """Return where a path may be cut, longest first."""
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
def lines_of(path: str) -> tuple[str, ...]:
    """Return the lines of a file of the user's."""
    return tuple(text_of(path).splitlines())


@cache
def _bound(path: str) -> _Names:
    found: _Names = {}
    for target, value in _assignments(path):
        _bind(found, target, value)
    return found


@cache
def _leaves(path: str) -> dict[_Place, dict[str, str]]:
    """Return for each assigned expression the variable that each part of it goes to, by its path."""
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
def _tree(path: str) -> ast.Module:
    try:
        return ast.parse(text_of(path))
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


@cache
def _assignments(path: str) -> tuple[tuple[ast.expr, ast.expr], ...]:
    found: list[tuple[ast.expr, ast.expr]] = []
    for node in ast.walk(_tree(path)):
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
