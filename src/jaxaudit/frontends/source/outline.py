"""The outline of a file: its functions and the names it mentions, gathered in one walk over its syntax tree."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jaxaudit.frontends.source.syntax import children

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class Outline:
    """What a walk over a file finds."""

    functions: tuple[FunctionNode, ...]
    mentioned: frozenset[str]
    """Names that are read, as variables or as attributes."""


def outline(tree: ast.Module) -> Outline:
    """Walk a syntax tree once."""
    functions: list[FunctionNode] = []
    mentioned: set[str] = set()
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                mentioned.add(node.id)
            continue
        if isinstance(node, ast.Constant):
            continue
        if isinstance(node, ast.Attribute):
            mentioned.add(node.attr)
        elif isinstance(node, _FUNCTIONS):
            functions.append(node)
        pending += children(node)
    functions.sort(key=lambda node: (node.lineno, node.col_offset))
    return Outline(tuple(functions), frozenset(mentioned))
