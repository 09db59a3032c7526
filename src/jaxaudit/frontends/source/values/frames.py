"""Frames: the variables of one function, class body or module while it is interpreted."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from jaxaudit.frontends.source.interpret.syntax import FunctionNode, children, names_in
from jaxaudit.frontends.source.names.bound import bound_by, parameters
from jaxaudit.frontends.source.values.callables import FunctionValue
from jaxaudit.frontends.source.values.heap import Moment
from jaxaudit.frontends.source.values.model import Abstract
from jaxaudit.ir import Value

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.modules import Module

Env = dict[str, Abstract]


@dataclass(slots=True, eq=False)
class LoopExits:
    """Variables as they were at each `break` and `continue` of one loop."""

    breaks: list[Env] = field(default_factory=list)
    continues: list[Env] = field(default_factory=list)
    left: list[Moment] = field(default_factory=list)
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
    left: list[Moment] = field(default_factory=list)
    """Objects as the paths that return early left them."""
    global_names: frozenset[str] = frozenset()
    nonlocal_names: frozenset[str] = frozenset()
    global_reads: dict[str, Abstract] = field(default_factory=dict)
    """Module-level values already read in this frame, so that two reads give one value."""
    opened: int = 0
    """The youngest value when a function's frame was opened."""
    turn: str = ""
    """The turn of a loop that is gone through turn by turn; empty outside of such loops."""
    captured: frozenset[str] = frozenset()
    """Variables that inner functions read and that are bound more than once."""

    departed: dict[ast.AST, Frame] = field(default_factory=dict)
    """The functions that were made on ways which left early, each with this scope as it was there."""

    given: frozenset[str] = frozenset()
    """The parameters that are None by default and that this call gives."""
    guarded: int = 0
    """How many `try` statements around the open statement go on after an exception of JAX."""
    doubted: int = 0
    """How many sides around the open statement, or around the calls that led here, are for other callers."""
    tried: bool = False
    """Whether a `try` that goes on after exceptions of JAX stands in the code so far."""
    is_conditional: bool = False
    """Whether the open statement runs only where a condition holds that is not decided."""
    asked: Mapping[Abstract | Value, Value] = field(default_factory=dict)
    """What open conditions around the statement ask about, and the condition; see `values/questions.py`."""

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

    def doubt(self, sides: int) -> None:
        """Enter or leave sides that are for other callers: what would raise there is not for sure."""
        self.guarded += sides
        self.doubted += sides

    def gives(self, name: str) -> bool:
        """Whether a name is a parameter, of this function or of one around it, that the call gives in place of None."""
        scope: Frame | None = self
        while scope is not None and name not in scope.env and name not in scope.given:
            scope = scope.enclosing()
        return scope is not None and name in scope.given


@lru_cache(maxsize=4096)
def assigned_names(node: ast.AST) -> frozenset[str]:
    """Return the names that a loop's statements assign (not those of functions defined in it)."""
    return frozenset(bound_by(children(node)).names)


@lru_cache(maxsize=4096)
def changing(node: ast.AST) -> tuple[tuple[ast.expr, str, bool], ...]:
    """Return the objects that a loop's statements store into or call a method of.

    Beside each stands the name of the method, and whether it may be a dict: an entry under a text is stored, or the
    method is given no more than a container's are. `tx.update(grads, state)` changes nothing.
    """
    found: list[tuple[ast.expr, str, bool]] = []
    pending = [*children(node)]
    while pending:
        current = pending.pop()
        match current:
            case ast.Subscript(ctx=ast.Store(), slice=ast.Constant(value=str())):
                found.append((current.value, "", True))
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                found.append((current.value, "", False))
            case ast.Call(func=ast.Attribute(attr=method, value=base), args=given):
                found.append((base, method, len(given) < 2))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
                continue
        pending += children(current)
    return tuple(found)


@lru_cache(maxsize=8192)
def free_names(node: FunctionNode) -> frozenset[str]:
    """Return the names that a function may read from the functions around it."""
    return frozenset(names_in(node)) - parameters(node).keys() - assigned_names(node)


def is_private(frame: Frame, held: Abstract) -> bool:
    """Whether a container belongs to a function around, which itself does nothing with it but set its items."""
    scope = frame.enclosing()
    while scope is not None and scope.function is not None:
        names = [name for name, value in scope.env.items() if value == held]
        if names:
            return _written_only(scope.function.node).issuperset(names)
        scope = scope.enclosing()
    return False


def is_own(outer: FunctionNode, inner: FunctionNode, name: str) -> bool:
    """Whether an inner function writes a variable of an outer one first, and nobody but it reads it after that."""
    mine = {id(one) for one in ast.walk(inner)}
    uses = [one for one in ast.walk(outer) if isinstance(one, ast.Name) and one.id == name]
    reads = [one for one in uses if isinstance(one.ctx, ast.Load)]
    writes = [one.lineno for one in uses if id(one) in mine and not isinstance(one.ctx, ast.Load)]
    return all(id(one) in mine and one.lineno > min(writes) for one in reads) if writes else False


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
