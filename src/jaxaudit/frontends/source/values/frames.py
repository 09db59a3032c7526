"""Frames: the variables of one function, class body or module while it is interpreted."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from jaxaudit.frontends.source.interpret.syntax import FUNCTIONS, FunctionNode, children, survey
from jaxaudit.frontends.source.values.callables import FunctionValue
from jaxaudit.frontends.source.values.heap import Box
from jaxaudit.frontends.source.values.model import Abstract

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.modules import Module

Env = dict[str, Abstract]


@dataclass(slots=True, eq=False)
class LoopExits:
    """Variables as they were at each `break` and `continue` of one loop."""

    breaks: list[Env] = field(default_factory=list)
    continues: list[Env] = field(default_factory=list)
    left: list[Mapping[int, Box]] = field(default_factory=list)
    """Objects as the paths that end a turn early left them."""


@dataclass(slots=True, eq=False)
class Frame:
    """One scope. Nested functions hold the frame itself, since Python closures see later assignments."""

    module: Module
    parent: Frame | None
    kind: str
    """`module`, `class` or `function`."""
    name: str
    env: Env = field(default_factory=dict)
    function: FunctionValue | None = None
    returns: list[Abstract] = field(default_factory=list)
    yields: list[Abstract] = field(default_factory=list)
    loops: list[LoopExits] = field(default_factory=list)
    left: list[Mapping[int, Box]] = field(default_factory=list)
    """Objects as the paths that return early left them."""
    global_names: frozenset[str] = frozenset()
    nonlocal_names: frozenset[str] = frozenset()
    global_reads: dict[str, Abstract] = field(default_factory=dict)
    """Module-level values already read in this frame, so that two reads give one value."""
    opened: int = 0
    """The youngest value when a function's frame was opened."""
    captured: frozenset[str] = frozenset()
    """Variables that inner functions read and that are bound more than once."""

    guarded: int = 0
    """How many `try` statements around the open statement go on after an exception of JAX."""

    @property
    def place(self) -> str:
        """A name for this scope that no other has."""
        line = "" if self.function is None else self.function.node.lineno
        return f"{self.module.path}:{self.name}:{line}"

    def enclosing(self) -> Frame | None:
        """Return the next scope that names are looked up in (class bodies are not)."""
        scope = self.parent
        while scope is not None and scope.kind == "class":
            scope = scope.parent
        return scope


@dataclass(frozen=True, slots=True)
class Declarations:
    """The names that `global` and `nonlocal` statements directly in a function declare."""

    global_names: frozenset[str]
    nonlocal_names: frozenset[str]


@lru_cache(maxsize=16_384)
def declarations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Declarations:
    """Find what a function declares as not its own."""
    names: dict[type[ast.AST], set[str]] = {ast.Global: set(), ast.Nonlocal: set()}
    pending: list[ast.AST] = list(node.body)
    while pending:
        current = pending.pop()
        if isinstance(current, (ast.Global, ast.Nonlocal)):
            names[type(current)].update(current.names)
        elif isinstance(current, (ast.stmt, ast.ExceptHandler, ast.match_case)) and not isinstance(current, _SCOPES):
            pending += children(current)
    return Declarations(frozenset(names[ast.Global]), frozenset(names[ast.Nonlocal]))


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@lru_cache(maxsize=8192)
def rebound_captures(node: FunctionNode) -> frozenset[str]:
    """Return the variables of a function that functions inside it read and that it binds again after the first time."""
    if not survey(node).nests:
        return frozenset()
    bound: Counter[str] = Counter()
    read: set[str] = set()
    pending: list[tuple[ast.AST, bool]] = [(child, False) for child in children(node)]
    for current, again in pending:
        if isinstance(current, FUNCTIONS):
            inner = _reach(current)
            read |= inner.reads
            bound.update(dict.fromkeys(inner.rebinds, 2))
        elif isinstance(current, ast.Name):
            if isinstance(current.ctx, ast.Store):
                bound[current.id] += 2 if again else 1
        elif isinstance(current, ast.Nonlocal):
            bound.update(dict.fromkeys(current.names, 2))
        else:
            repeats = again or isinstance(current, _LOOPS)
            pending += [(child, repeats) for child in children(current)]
    return frozenset(name for name in read if bound[name] > 1)


@dataclass(frozen=True, slots=True)
class _Reach:
    reads: frozenset[str]
    rebinds: frozenset[str]


@lru_cache(maxsize=8192)
def _reach(node: FunctionNode) -> _Reach:
    """Return the names that a function and those inside it read, and those they declare nonlocal."""
    reads: set[str] = set()
    rebinds: set[str] = set()
    pending = [*children(node)]
    for current in pending:
        if isinstance(current, FUNCTIONS):
            inner = _reach(current)
            reads |= inner.reads
            rebinds |= inner.rebinds
        elif isinstance(current, ast.Name):
            if isinstance(current.ctx, ast.Load):
                reads.add(current.id)
        elif isinstance(current, ast.Nonlocal):
            rebinds.update(current.names)
        else:
            pending += children(current)
    return _Reach(frozenset(reads), frozenset(rebinds))


@lru_cache(maxsize=4096)
def assigned_names(node: ast.AST) -> frozenset[str]:
    """Return the names that a loop's statements assign (not those of functions defined in it)."""
    names: set[str] = set()
    pending = [*children(node)]
    while pending:
        current = pending.pop()
        match current:
            case ast.Name(ctx=ast.Store(), id=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
                continue
            case ast.Lambda():
                continue
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                names.add(name)
        pending += children(current)
    return frozenset(names)


@lru_cache(maxsize=4096)
def changing(node: ast.AST) -> tuple[tuple[ast.expr, str], ...]:
    """Return the objects that a loop's statements store into or call a method of, with the name of the method."""
    found: list[tuple[ast.expr, str]] = []
    pending = [*children(node)]
    while pending:
        current = pending.pop()
        match current:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                found.append((current.value, ""))
            case ast.Call(func=ast.Attribute(attr=method, value=base)):
                found.append((base, method))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
                continue
        pending += children(current)
    return tuple(found)


@lru_cache(maxsize=8192)
def free_names(node: FunctionNode) -> frozenset[str]:
    """Return the names that a function may read from the functions around it."""
    params = node.args
    own = {
        one.arg for one in (*params.posonlyargs, *params.args, *params.kwonlyargs, params.vararg, params.kwarg) if one
    }
    return frozenset((survey(node).head | survey(node).body) - own - assigned_names(node))


def is_private(frame: Frame, held: Abstract) -> bool:
    """Whether a container belongs to a function around, which itself does nothing with it but set its items."""
    scope = frame.enclosing()
    while scope is not None and scope.function is not None:
        names = [name for name, value in scope.env.items() if value == held]
        if names:
            return _written_only(scope.function.node).issuperset(names)
        scope = scope.enclosing()
    return False


@lru_cache(maxsize=4096)
def _written_only(node: FunctionNode) -> frozenset[str]:
    """Return the names that a function binds, and otherwise only sets items of, outside of functions inside it."""
    reads: set[str] = set()
    pending: list[ast.AST] = [] if isinstance(node, ast.Lambda) else [*node.body]
    for current in pending:
        match current:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
                continue
            case ast.Subscript(value=ast.Name(), ctx=ast.Store()):
                pending.append(current.slice)
                continue
            case ast.Name(id=name, ctx=ast.Load()):
                reads.add(name)
        pending += children(current)
    return assigned_names(node) - reads
