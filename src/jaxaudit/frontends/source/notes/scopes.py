"""Which variables of a function are read, where, and whether a binding can ever be seen again: syntax alone.

Answers are one-sided. "Nobody reads this binding" is said only where it holds on every path; any doubt (a closure, a
loop around it, `locals()`) counts as a read.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache

from jaxaudit.frontends.source.interpret.syntax import children, names_in, survey

Place = tuple[int, int]
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_REFLECTION = frozenset("locals vars eval exec globals".split())
_EXPECTS = ("raises", "Raises", "warns", "Warns", "suppress")


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around a statement inside its function."""

    loops: tuple[ast.stmt, ...] = ()
    guarded: bool = False
    """True inside a `try` with handlers or a `with pytest.raises(...)`: the statement may be there to fail."""


@dataclass(slots=True, eq=False)
class Scope:
    """Where the names of one function or module are read."""

    reads: defaultdict[str, list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    last: dict[str, Place] = field(default_factory=dict)
    """Where each name is read last."""
    shared: set[str] = field(default_factory=set)
    """Names that other scopes can read: captured, global or nonlocal."""
    around: dict[ast.stmt, Around] = field(default_factory=dict)
    reflects: bool = False

    def is_unread(self, name: str, after: ast.stmt) -> bool:
        """Whether the value that a statement binds to a name is surely never read."""
        if self.reflects or name in self.shared:
            return False
        if name in self.last and self.last[name] >= _end(after):
            return False
        loops = self.around[after].loops if after in self.around else ()
        return not any(_inside(read, loop) for loop in loops for read in self.reads.get(name, ()))

    def add_read(self, name: str, node: ast.expr) -> None:
        """Note that a name is read."""
        self.reads[name].append(node)
        self.last[name] = max(self.last.get(name, (0, 0)), _start(node))


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
    scope = Scope()
    if not isinstance(node, ast.Lambda):
        _index(scope, node.body, Around())
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


def _index(scope: Scope, body: list[ast.stmt], around: Around) -> None:
    for statement in body:
        scope.around[statement] = around
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope.shared.update(_free(statement))
            continue
        if isinstance(statement, ast.Global | ast.Nonlocal):
            scope.shared.update(statement.names)
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            scope.add_read(statement.target.id, statement.target)
        for name, value in ast.iter_fields(statement):
            _index_field(scope, statement, name, value, around)


def _index_field(scope: Scope, statement: ast.stmt, name: str, value: object, around: Around) -> None:
    parts = value if isinstance(value, list) else [value]
    blocks = [part for part in parts if isinstance(part, ast.stmt)]
    if blocks:
        _index(scope, blocks, _inner(statement, name, around))
    for part in parts:
        if isinstance(part, ast.ExceptHandler | ast.match_case):
            if isinstance(part, ast.match_case):
                _index_expression(scope, part.pattern)
            _index(scope, part.body, around)
        elif isinstance(part, ast.AST) and not isinstance(part, ast.stmt):
            _index_expression(scope, part)


def _inner(statement: ast.stmt, name: str, around: Around) -> Around:
    if isinstance(statement, _LOOPS):
        return Around((*around.loops, statement), around.guarded)
    tries = isinstance(statement, ast.Try | ast.TryStar) and name == "body" and bool(statement.handlers)
    expects = isinstance(statement, ast.With) and any(
        word in ast.unparse(item.context_expr) for item in statement.items for word in _EXPECTS
    )
    return Around(around.loops, around.guarded or tries or expects)


def _index_expression(scope: Scope, node: ast.AST) -> None:
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, ast.Lambda):
            scope.shared.update(_free(current))
            continue
        if isinstance(current, ast.Name):
            _note(scope, current)
        pending += children(current)


def _note(scope: Scope, node: ast.Name) -> None:
    if not isinstance(node.ctx, ast.Store):
        # Deleting a name says that it is not needed: that counts as having seen it.
        scope.add_read(node.id, node)
    scope.reflects |= node.id in _REFLECTION


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
        elif isinstance(current, ast.Global | ast.Nonlocal):
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
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        inside = list(node.body)
    outside = [part for part in children(node) if not any(part is one for one in inside)]
    return {name for part in outside for name in names_in(part)}


def _start(node: ast.expr | ast.stmt) -> Place:
    return node.lineno, node.col_offset


def _end(node: ast.stmt) -> Place:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _within(place: Place, node: ast.stmt) -> bool:
    return _start(node) <= place < _end(node)


def _inside(node: ast.expr, outer: ast.stmt) -> bool:
    return _within(_start(node), outer)
