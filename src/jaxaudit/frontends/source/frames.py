"""Frames: the variables of one function, class body or module while it is interpreted."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from jaxaudit.frontends.source.values import Abstract, FunctionValue

if TYPE_CHECKING:
    from jaxaudit.frontends.source.modules import Module

Env = dict[str, Abstract]


@dataclass(slots=True, eq=False)
class LoopExits:
    """Variables as they were at each `break` and `continue` of one loop."""

    breaks: list[Env] = field(default_factory=list)
    continues: list[Env] = field(default_factory=list)


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
    loops: list[LoopExits] = field(default_factory=list)
    global_names: frozenset[str] = frozenset()
    nonlocal_names: frozenset[str] = frozenset()
    global_reads: dict[str, Abstract] = field(default_factory=dict)
    """Module-level values already read in this frame, so that two reads give one value."""

    def enclosing(self) -> Frame | None:
        """Give the next scope that names are looked up in (class bodies are not)."""
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
        if isinstance(current, ast.Global | ast.Nonlocal):
            names[type(current)].update(current.names)
        elif isinstance(current, ast.stmt | ast.ExceptHandler | ast.match_case) and not isinstance(current, _SCOPES):
            pending.extend(ast.iter_child_nodes(current))
    return Declarations(frozenset(names[ast.Global]), frozenset(names[ast.Nonlocal]))


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
