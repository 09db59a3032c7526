"""Which variables of a function are read, where, and whether a binding can ever be seen again: syntax alone.

Answers are one-sided. "Nobody reads this binding" is said only where it holds on every path; any doubt (a closure, a
loop around it, `locals()`) counts as a read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from jaxaudit.frontends.source.interpret.syntax import children, names_in, survey
from jaxaudit.frontends.source.names.flow import swallows
from jaxaudit.frontends.source.notes.liveness import Liveness, liveness_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_REFLECTION = frozenset("locals vars eval exec globals".split())


@dataclass(slots=True, eq=False)
class Scope:
    """Where the names of one function or module are read."""

    liveness: Liveness
    shared: set[str] = field(default_factory=set)
    """Names that other scopes can read: captured, global or nonlocal."""
    guarded: set[ast.stmt] = field(default_factory=set)
    """Statements in a `try` with handlers or a `with pytest.raises(...)`: they may be there to fail."""
    reflects: bool = False
    ends: frozenset[ast.stmt] = frozenset()
    """The statements at the ends of branches of a function that gives a value at the end of another one."""

    def is_unread(self, name: str, after: ast.stmt) -> bool:
        """Whether the value that a statement binds to a name is surely never read."""
        if self.reflects or name in self.shared:
            return False
        return not self.liveness.is_read(name, after)


def path_of(node: ast.AST) -> tuple[str, ...]:
    """Return the names of an object and of the part of it that an expression reads: `('self', 'self.state')`."""
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Attribute(value=base, attr=name):
            above = path_of(base)
            return (*above, f"{above[-1]}.{name}") if above else ()
        case ast.Subscript(value=base, slice=ast.Constant(value=key)):
            above = path_of(base)
            return (*above, f"{above[-1]}[{key!r}]") if above else ()
    return ()


@lru_cache(maxsize=16_384)
def scope_of(node: _Function | ast.Module) -> Scope:
    """Index the names of one function or module."""
    body = [] if isinstance(node, ast.Lambda) else node.body
    scope = Scope(liveness_of(() if isinstance(node, ast.Module) else body))
    _index(scope, body)
    last = list(_last(body))
    gives = any(isinstance(one, ast.Return) and one.value is not None for one in last)
    scope.ends = frozenset(one for one in last if gives and isinstance(one, ast.Expr))
    return scope


@lru_cache(maxsize=16_384)
def unread_parameters(node: _Function) -> tuple[ast.arg, ...]:
    """Return the parameters that a function's body never mentions."""
    params = node.args
    named = [*params.posonlyargs, *params.args, *params.kwonlyargs]
    mentioned = survey(node).body
    if not mentioned.isdisjoint(_REFLECTION):
        return ()
    return tuple(param for param in named if param.arg not in mentioned)


def _last(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Return the statements that a block may end with, one for each branch."""
    match body[-1:]:
        case [ast.If(body=then, orelse=[*otherwise])] if otherwise:
            yield from (*_last(then), *_last(otherwise))
        case [statement]:
            yield statement


def _index(scope: Scope, body: list[ast.stmt]) -> None:
    """Go through what a scope runs by itself: an inner function or class shares what it takes from here."""
    pending: list[tuple[ast.AST, bool]] = [(statement, False) for statement in body]
    while pending:
        node, guarded = pending.pop()
        if isinstance(node, _INNER):
            scope.shared.update(_free(node))
            continue
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            scope.shared.update(node.names)
        elif isinstance(node, ast.Name):
            scope.reflects |= node.id in _REFLECTION
        elif guarded and isinstance(node, ast.stmt):
            scope.guarded.add(node)
        tried = node.body if isinstance(node, (ast.Try, ast.TryStar)) and node.handlers else ()
        guarded |= isinstance(node, ast.With) and swallows(node)
        pending += [(part, guarded or part in tried) for part in children(node)]


@lru_cache(maxsize=16_384)
def _free(node: ast.AST) -> frozenset[str]:
    """Return the names that an inner function or class takes from around it."""
    used: set[str] = set()
    bound: set[str] = set()
    given: set[str] = set()
    pending = list(children(node))
    while pending:
        current = pending.pop()
        if isinstance(current, _INNER):
            used |= _free(current)
            bound |= set() if isinstance(current, ast.Lambda) else {current.name}
            continue
        if isinstance(current, ast.Name):
            (used if isinstance(current.ctx, ast.Load) else bound).add(current.id)
        elif isinstance(current, ast.comprehension):
            # Its variables are its own: they hide nothing outside of it.
            pending += (current.iter, *current.ifs)
            continue
        elif isinstance(current, ast.arg):
            bound.add(current.arg)
        elif isinstance(current, (ast.Global, ast.Nonlocal)):
            given.update(current.names)
        pending += children(current)
    if isinstance(node, ast.ClassDef):
        return frozenset(used | bound)
    return frozenset((used - bound) | given | _read_at_once(node))


def _read_at_once(node: ast.AST) -> set[str]:
    """Return the names that a definition reads where it stands: in defaults, decorators and annotations."""
    inside: list[ast.AST] = []
    if isinstance(node, ast.Lambda):
        inside = [node.body]
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        inside = list(node.body)
    outside = [part for part in children(node) if not any(part is one for one in inside)]
    return {name for part in outside for name in names_in(part)}
