"""Walks over syntax trees, faster than `ast` does it: what holds no names, such as operators, is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

_HOLDERS: Mapping[type[ast.AST], tuple[str, ...]] = {
    ast.Attribute: ("value",),
    ast.AugAssign: ("target", "value"),
    ast.BinOp: ("left", "right"),
    ast.BoolOp: ("values",),
    ast.Call: ("func", "args", "keywords"),
    ast.Compare: ("left", "comparators"),
    ast.Constant: (),
    ast.Expr: ("value",),
    ast.List: ("elts",),
    ast.Name: (),
    ast.Starred: ("value",),
    ast.Subscript: ("value", "slice"),
    ast.Tuple: ("elts",),
    ast.UnaryOp: ("operand",),
    ast.alias: (),
    ast.arg: ("annotation",),
    ast.keyword: ("value",),
}
"""The fields of frequent nodes that hold expressions or statements; of all others every field is looked at."""


def children(node: ast.AST) -> list[ast.AST]:
    """Give the nodes right below a node, in order."""
    kind = node.__class__
    fields = _HOLDERS.get(kind)
    found: list[ast.AST] = []
    for name in kind._fields if fields is None else fields:
        child = getattr(node, name, None)
        if child.__class__ is list:
            found += [one for one in child if isinstance(one, ast.AST)]
        elif isinstance(child, ast.AST):
            found.append(child)
    return found


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Give a node and all below it, in no order to rely on."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending += children(current)
