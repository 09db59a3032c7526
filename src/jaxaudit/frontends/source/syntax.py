"""Walks over syntax trees, faster than `ast` does it: what holds no names, such as operators, is left out."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

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


@dataclass(frozen=True, slots=True)
class Landmarks:
    """What people look for in a whole module, outer nodes before inner ones."""

    calls: list[ast.Call] = field(default_factory=list)
    loops: list[ast.For] = field(default_factory=list)
    loads: list[ast.Name] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = field(default_factory=list)


@lru_cache(maxsize=4096)
def landmarks(tree: ast.Module) -> Landmarks:
    """Look through a module once, for all who ask."""
    found = Landmarks()
    pending: deque[ast.AST] = deque((tree,))
    while pending:
        node = pending.popleft()
        match node:
            case ast.Name(ctx=ast.Load()):
                found.loads.append(node)
            case ast.Constant(value=str(text)):
                found.texts.append(text)
            case ast.Call():
                found.calls.append(node)
            case ast.For():
                found.loops.append(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found.functions.append(node)
        pending.extend(children(node))
    return found
