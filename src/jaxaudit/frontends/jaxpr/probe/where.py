"""Finds the place of a rule to speak about: the expression that it returns for an argument."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from jaxaudit.frontends.jaxpr.places import is_user_file
from jaxaudit.frontends.jaxpr.probe.met import Met, code_of, users_function
from jaxaudit.frontends.jaxpr.protocol import Frame

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def place_of_rule(met: Met, position: int | None = None) -> Frame | None:
    """Return the place of what the rule returns, for one argument where that can be told apart."""
    role = "bwd" if met.kind == "custom_vjp" else "jvp"
    function = users_function(getattr(met.rule, role, None), role) or users_function(met.rule.fun, "fun")
    return place_of_returned(function, lambda returned: _part(returned, met, position))


def place_of_returned(
    function: object, chosen: Callable[[ast.expr], ast.expr] = lambda returned: returned
) -> Frame | None:
    """Return the place of what a function returns, or of what is chosen of it; else that of the function."""
    code = code_of(function)
    if not isinstance(code, CodeType):
        return None
    node = _definition(code)
    found = _returned(node) if node is not None else None
    if found is None:
        return _frame(code, code.co_firstlineno, 0, code.co_firstlineno, 0)
    part = chosen(found)
    return _frame(code, part.lineno, part.col_offset, part.end_lineno or part.lineno, part.end_col_offset or 0)


def place_of_function(met: Met) -> Frame | None:
    """Return the place of the function that the rule is for."""
    code = code_of(users_function(met.rule.fun, "fun") or met.rule.fun)
    if not isinstance(code, CodeType):
        return None
    return _frame(code, code.co_firstlineno, 0, code.co_firstlineno, 0)


def _frame(code: CodeType, line: int, column: int, end_line: int, end_column: int) -> Frame:
    path = code.co_filename
    return Frame(path, line, column, end_line, end_column, code.co_qualname, is_user_file(path))


def _part(returned: ast.expr, met: Met, position: int | None) -> ast.expr:
    """Return the element for an argument of a backward rule, or the tangent of a forward rule."""
    items = returned.elts if isinstance(returned, ast.Tuple) else []
    if met.kind == "custom_jvp":
        return items[1] if len(items) == 2 else returned
    moving = [at for at in range(len(met.args)) if at not in met.static]
    if position in moving and len(items) == len(moving):
        return items[moving.index(position)]
    return returned


@cache
def parsed(path: str) -> ast.Module | None:
    """Return the syntax of a file; None where it cannot be read."""
    try:
        return ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None


def _definition(code: CodeType) -> _Function | None:
    tree = parsed(code.co_filename)
    nodes = ast.walk(tree) if tree is not None else ()
    return next((one for one in nodes if isinstance(one, _Function) and _is(one, code)), None)


def _is(node: _Function, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        # Several may begin on one line; the instructions lie in the body of the right one.
        places = [(line, column) for line, _, column, _ in code.co_positions() if line and column is not None]
        body = node.body
        start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
        inside = [place for place in places if place >= (node.lineno, node.col_offset + 1)]
        return code.co_name == "<lambda>" and bool(inside) and all(start <= place <= end for place in inside)
    first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
    return node.name == code.co_name and code.co_firstlineno in (first, node.lineno)


def _returned(node: _Function) -> ast.expr | None:
    if isinstance(node, ast.Lambda):
        return node.body
    found = [one.value for one in _returns(node.body) if one.value is not None]
    return found[-1] if found else None


def _returns(body: list[Any]) -> Iterator[ast.Return]:
    for statement in body:
        if isinstance(statement, ast.Return):
            yield statement
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for name in ("body", "orelse", "finalbody", "handlers", "cases"):
                yield from _returns(getattr(statement, name, None) or [])
