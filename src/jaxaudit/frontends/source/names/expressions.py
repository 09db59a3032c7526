"""Expressions: every name that one reads, looked up in the order in which it is evaluated."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxaudit.frontends.source.interpret.syntax import children
from jaxaudit.frontends.source.names.bound import bound_by, defaults
from jaxaudit.frontends.source.names.paths import Gap, State, implied, taken
from jaxaudit.frontends.source.names.scope import LAMBDA, Scope
from jaxaudit.ir.reads import Sure

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SPECIAL = frozenset((ast.Name, ast.Lambda, ast.NamedExpr, ast.IfExp, ast.BoolOp, *_COMPREHENSIONS))


def read_all(scope: Scope, nodes: Iterable[ast.AST], state: State) -> None:
    """Look up what several expressions read."""
    for node in nodes:
        read(scope, node, state)


def read(scope: Scope, node: ast.AST, state: State) -> None:
    """Look up what an expression reads."""
    pending = [node]
    while pending:
        current = pending.pop()
        if not _special(scope, current, state):
            pending += reversed(children(current))


def _special(scope: Scope, node: ast.AST, state: State) -> bool:
    """Look up what an expression reads that is a name, or does not evaluate its parts one after the other."""
    if node.__class__ not in _SPECIAL:
        return False
    match node:
        case ast.Name(ctx=ast.Load()):
            scope.look_up(node, state)
        case ast.Lambda():
            read_lambda(scope, node, state)
        case ast.NamedExpr(target=target, value=value):
            read(scope, value, state)
            scope.bind(target.id, state)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            read(scope, test, state)
            _guarded(scope, body, taken(state, test, holds=True, params=scope.params))
            _guarded(scope, orelse, taken(state, test, holds=False, params=scope.params))
        case ast.BoolOp(op=op, values=[first, *others]):
            read(scope, first, state)
            holds = isinstance(op, ast.And)
            inside = taken(state, first, holds=holds, params=scope.params)
            for one in others:
                _guarded(scope, one, inside)
                inside = taken(inside, one, holds=holds, params=scope.params)
            if names := bound_by(others).names:
                # What `:=` binds further on has a value where the last part decides.
                decides = implied(others[-1], holds=holds)[-1]
                gap = Gap(Sure.OPEN, f"`{ast.unparse(node)}` need not come to it", node, unless=decides)
                scope.loosen(names, state, gap)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            _comprehension(scope, node, state)
        case _:
            return False
    return True


def read_lambda(scope: Scope, node: ast.Lambda, state: State, name: str = LAMBDA) -> None:
    """Follow a function that is an expression, and perhaps the value of a name."""
    read_all(scope, defaults(node), state)
    inner, start = scope.function(node, state, name)
    inner.state = start
    read(inner, node.body, start)
    inner.close()


def _guarded(scope: Scope, node: ast.AST, state: State) -> None:
    scope.depth += 1
    read(scope, node, state)
    scope.depth -= 1


def _comprehension(
    scope: Scope, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, state: State
) -> None:
    hidden: set[str] = set()
    inside = state.inside()
    for number, part in enumerate(node.generators):
        read(scope, part.iter, inside)
        if number == 0:
            scope.hidden.append(hidden)
        hidden |= bound_by([part.target]).names
        for test in part.ifs:
            read(scope, test, inside)
            inside = taken(inside, test, holds=True, params=scope.params)
    read_all(scope, [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt], inside)
    scope.hidden.pop()
    scope.loosen(bound_by([node]).names, state, Gap(Sure.OPEN, "there may be no item", node))


def bind(scope: Scope, target: ast.AST | None, state: State, made: ast.expr | None = None) -> None:
    """Give the names in a target their values, of which one may be that of an expression."""
    match target:
        case ast.Name(id=name):
            scope.bind(name, state, target, made)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for one in parts:
                bind(scope, one, state)
        case ast.Starred(value=inner):
            bind(scope, inner, state)
        case ast.Attribute() | ast.Subscript():
            read_all(scope, children(target), state)
