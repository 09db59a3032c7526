"""Walks over syntax trees, faster than `ast` does it: what holds no names, such as operators, is left out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any

from jaxaudit.ir.record import record

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Below = Callable[[Any], Sequence[ast.AST]]


def _fields(*names: str) -> Below:
    """Make the reader of the nodes in some fields, each a node, a list of nodes, or nothing."""

    def read(node: ast.AST) -> list[ast.AST]:
        found: list[ast.AST] = []
        for name in names:
            child = getattr(node, name, None)
            if child.__class__ is list:
                # Parts of a list may be missing: defaults of arguments, keys of dicts.
                found += [one for one in child if one is not None]
            elif child is not None:
                found.append(child)
        return found

    return read


def _nothing(node: ast.AST) -> Sequence[ast.AST]:
    return ()


_ENDS = frozenset((ast.Constant, ast.Name, ast.Pass, ast.alias, ast.Import, ast.ImportFrom))
"""Kinds of nodes with nothing below them that holds names: half of all."""

_BELOW: dict[type[ast.AST], Below] = {
    ast.Assign: lambda node: (*node.targets, node.value),
    ast.Attribute: lambda node: (node.value,),
    ast.AugAssign: lambda node: (node.target, node.value),
    ast.BinOp: lambda node: (node.left, node.right),
    ast.BoolOp: lambda node: node.values,
    ast.Call: lambda node: (node.func, *node.args, *node.keywords) if node.keywords else (node.func, *node.args),
    ast.Compare: lambda node: (node.left, *node.comparators),
    ast.Expr: lambda node: (node.value,),
    ast.For: lambda node: (node.target, node.iter, *node.body, *node.orelse),
    ast.If: lambda node: (node.test, *node.body, *node.orelse),
    ast.List: lambda node: node.elts,
    ast.Module: lambda node: node.body,
    ast.Starred: lambda node: (node.value,),
    ast.Subscript: lambda node: (node.value, node.slice),
    ast.Tuple: lambda node: node.elts,
    ast.UnaryOp: lambda node: (node.operand,),
    ast.arg: lambda node: () if node.annotation is None else (node.annotation,),
    ast.keyword: lambda node: (node.value,),
    ast.AsyncFunctionDef: _fields("args", "body", "decorator_list", "returns", "type_params"),
    ast.ClassDef: _fields("bases", "keywords", "body", "decorator_list", "type_params"),
    ast.Dict: _fields("keys", "values"),
    ast.FunctionDef: _fields("args", "body", "decorator_list", "returns", "type_params"),
    ast.Return: _fields("value"),
    ast.arguments: _fields("posonlyargs", "args", "vararg", "kwonlyargs", "kw_defaults", "kwarg", "defaults"),
    **dict.fromkeys(_ENDS, _nothing),
}
"""What holds names right below nodes of each kind; kinds that are missing here are added when they are met."""


def children(node: ast.AST) -> Sequence[ast.AST]:
    """Return the nodes right below a node, in order."""
    below = _BELOW.get(node.__class__)
    if below is None:
        below = _BELOW[node.__class__] = _nodes_only(node.__class__)
    return below(node)


def _nodes_only(kind: type[ast.AST]) -> Below:
    """Make the reader of all fields of a kind, some of which hold names or numbers."""
    read = _fields(*kind._fields)
    return lambda node: [one for one in read(node) if isinstance(one, ast.AST)]


def walk(*nodes: ast.AST) -> list[ast.AST]:
    """Return some nodes and all below them, outer ones before inner ones."""
    found = [*nodes]
    for node in found:
        if node.__class__ not in _ENDS:
            found += children(node)
    return found


@lru_cache(maxsize=4096)
def nodes_of(tree: ast.Module) -> Sequence[ast.AST]:
    """Return all nodes of a module, outer ones before inner ones, for all who go through them."""
    return walk(tree)


def names_in(node: ast.AST) -> list[str]:
    """Return the names of all variables below a node, each as often as it stands there."""
    return [one.id for one in walk(node) if isinstance(one, ast.Name)]


@record
class Landmarks:
    """What people look for in a whole module, outer nodes before inner ones."""

    calls: list[ast.Call] = field(default_factory=list)
    loops: list[ast.For] = field(default_factory=list)
    loads: list[ast.Name] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    attributes: list[ast.Attribute] = field(default_factory=list)
    functions: list[FunctionNode] = field(default_factory=list)


@lru_cache(maxsize=4096)
def landmarks(tree: ast.Module) -> Landmarks:
    """Look through a module once, for all who ask."""
    found = Landmarks()
    for node in nodes_of(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                found.loads.append(node)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                found.texts.append(node.value)
        elif isinstance(node, ast.Attribute):
            found.attributes.append(node)
        elif isinstance(node, ast.Call):
            found.calls.append(node)
        elif isinstance(node, ast.For):
            found.loops.append(node)
        elif isinstance(node, FUNCTIONS):
            found.functions.append(node)
    return found


@record
class Outline:
    """What a walk over a file finds."""

    functions: tuple[FunctionNode, ...]
    mentioned: frozenset[str]
    """Names that are read, as variables or as attributes."""


def outline(tree: ast.Module) -> Outline:
    """Gather what a file defines and mentions."""
    seen = landmarks(tree)
    functions = sorted(seen.functions, key=lambda node: (node.lineno, node.col_offset))
    return Outline(
        tuple(functions), frozenset([*(one.id for one in seen.loads), *(one.attr for one in seen.attributes)])
    )
