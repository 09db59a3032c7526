"""Which names a piece of code binds in its own scope, and which belong to others."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import field
from functools import lru_cache

from jaxaudit.frontends.source.interpret.syntax import FunctionNode, children
from jaxaudit.ir.record import mutable

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_INNER = (ast.NamedExpr, ast.Lambda, *_COMPREHENSIONS)
_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, *_COMPREHENSIONS)
_BINDING = (ast.Name, ast.Import, ast.ImportFrom, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping)
_TELLING = frozenset((*_BINDING, *_DEFINING, ast.Global, ast.Nonlocal))
"""The nodes that say something of names; most do not."""


@mutable
class Bound:
    """What statements do to the names of the scope that they stand in."""

    names: set[str] = field(default_factory=set)
    """Those that they bind (or delete) in some way."""
    global_: set[str] = field(default_factory=set)
    nonlocal_: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)
    """Those that functions inside declare `nonlocal`."""
    star: bool = False
    """Whether they import all there is in a module."""

    @property
    def own(self) -> set[str]:
        """The names that belong to the scope that the statements stand in."""
        return self.names - self.global_ - self.nonlocal_

    def add(self, other: Bound) -> None:
        """Count in what other statements of the scope do."""
        self.names |= other.names
        self.global_ |= other.global_
        self.nonlocal_ |= other.nonlocal_
        self.outer |= other.outer
        self.star |= other.star


def bound_by(nodes: Iterable[ast.AST]) -> Bound:
    """Return what some statements or expressions bind, not looking into the scopes inside them."""
    found, pending = Bound(), [*nodes]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt):
            found.add(_statement(node))
        else:
            pending += _look(node, found)
    return found


@lru_cache(maxsize=32_768)
def _statement(node: ast.stmt) -> Bound:
    """Return what one statement binds: asked again for each block around it."""
    found = Bound()
    found.add(bound_by(_look(node, found)))
    return found


def _look(node: ast.AST, found: Bound) -> Iterable[ast.AST]:
    """Note what one node binds, and return the nodes below it that belong to the same scope."""
    if node.__class__ not in _TELLING:
        return children(node)
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            found.names.add(name)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            found.names.add(node.name)
            found.outer |= declared(node)
            return [*node.decorator_list, *(() if isinstance(node, ast.ClassDef) else defaults(node))]
        case ast.Lambda():
            return defaults(node)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            bound = {one.asname or one.name.partition(".")[0] for one in names}
            found.star |= "*" in bound
            found.names |= bound
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            found.names.add(name)
        case ast.MatchMapping(rest=str(name)):
            found.names.add(name)
        case ast.Global(names=names):
            found.global_ |= {*names}
        case ast.Nonlocal(names=names):
            found.nonlocal_ |= {*names}
    if isinstance(node, _COMPREHENSIONS):
        return [one for one in _below(node) if isinstance(one, _INNER)]
    return children(node)


def _below(node: ast.AST) -> list[ast.AST]:
    """Return all that stands in a comprehension, which has a scope of its own but for `:=`."""
    found = [*children(node)]
    for one in found:
        if not isinstance(one, _INNER):
            found += children(one)
    return found


@lru_cache(maxsize=16_384)
def declared(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> frozenset[str]:
    """Return the names that a function or class, or one inside it, declares `nonlocal`."""
    found: set[str] = set()
    pending: list[ast.AST] = [*node.body]
    while pending:
        current = pending.pop()
        if isinstance(current, ast.Nonlocal):
            found |= {*current.names}
        if isinstance(current, ast.stmt | ast.ExceptHandler | ast.match_case):
            pending += children(current)
    return frozenset(found)


def defaults(node: FunctionNode) -> list[ast.expr]:
    """Return the defaults of parameters, which are evaluated where the function is defined."""
    return [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]


def parameters(node: FunctionNode) -> dict[str, ast.arg]:
    """Return all parameters of a function by name."""
    params = node.args
    every = (*params.posonlyargs, *params.args, *params.kwonlyargs, params.vararg, params.kwarg)
    return {one.arg: one for one in every if one is not None}
