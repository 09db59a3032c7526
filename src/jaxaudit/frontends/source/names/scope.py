"""One scope while its statements are followed: its names, and where a name that it reads comes from."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field

from jaxaudit.frontends.source.interpret.syntax import FunctionNode
from jaxaudit.frontends.source.names.bindings import Bindings
from jaxaudit.frontends.source.names.bound import bound_by, parameters
from jaxaudit.frontends.source.names.paths import Gap, State
from jaxaudit.ir.reads import ScopeReads, Sure, Unbound
from jaxaudit.spans import Span, span_of

_PROVIDED = frozenset((*dir(builtins), "get_ipython", "display"))
"""What Python provides, and a notebook."""

_SHOWN = frozenset(("locals", "vars", "eval", "exec"))
"""What may read all variables of the function that calls it."""


@dataclass(slots=True)
class Whole:
    """What the scopes of one module share."""

    path: str
    names: frozenset[str]
    """All that its top level binds somewhere."""
    main_only: frozenset[str]
    """What it binds only when it is run as a program."""
    mains: tuple[ast.stmt, ...]
    """The blocks that do so."""
    reflects: bool
    """Whether names may come from where nobody sees."""
    retold: bool
    """Whether names of types are missing from the syntax that was parsed."""
    found: list[ScopeReads] = field(default_factory=list)

    def is_program(self, node: ast.Name) -> bool:
        """Whether a place lies in what is run as a program alone."""
        return any(block.lineno <= node.lineno <= (block.end_lineno or block.lineno) for block in self.mains)


@dataclass(slots=True)
class Turns:
    """The states in which turns of a loop end early."""

    breaks: list[State | None] = field(default_factory=list)
    continues: list[State | None] = field(default_factory=list)


@dataclass(slots=True)
class _Late:
    """A read inside a function, of a name that the scope around it had not bound when it was defined."""

    node: ast.Name
    gap: Gap | None
    guarded: bool
    """Whether a condition stands around it, which may be true just where there is a value."""
    caught: bool
    """Whether a `try` around it catches a missing name."""


@dataclass(slots=True, eq=False)
class Scope:
    """A function, class or module."""

    whole: Whole
    label: str
    span: Span
    kind: str
    """`module`, `class` or `function`."""
    own: set[str]
    """The names that belong to it."""
    params: set[str] = field(default_factory=set)
    """Those that the caller gives and nothing binds again."""
    parent: Scope | None = None
    outer: set[str] = field(default_factory=set)
    """Those of its own that functions inside may bind at any time."""
    state: State = field(default_factory=State)
    """As it was where the open definition inside stands."""
    turns: list[Turns] = field(default_factory=list)
    hidden: list[set[str]] = field(default_factory=list)
    """The variables of the comprehensions around an expression."""
    caught: int = 0
    """How many `try` statements around a statement catch a missing name."""
    depth: int = 0
    """How many conditions stand around it."""
    bindings: Bindings = field(default_factory=Bindings)
    _count: int = 0
    _unbound: list[Unbound] = field(default_factory=list)
    _late: dict[int, _Late] = field(default_factory=dict)

    def function(self, node: FunctionNode, state: State) -> tuple[Scope, State]:
        """Open the scope of a function that is defined here, and the state that it begins with."""
        params = parameters(node)
        bound = bound_by([node.body] if isinstance(node, ast.Lambda) else node.body)
        label = "lambda" if isinstance(node, ast.Lambda) else node.name
        own = (params.keys() | bound.names) - bound.elsewhere
        self.state = state
        free = params.keys() - bound.names - bound.outer
        span = span_of(node, self.whole.path)
        scope, start = Scope(self.whole, label, span, "function", own, free, self, bound.outer), State()
        for name, param in params.items():
            scope.bind(name, start, param)
        return scope, start

    def class_(self, node: ast.ClassDef, state: State) -> tuple[Scope, State]:
        """Open the scope of a class that is defined here."""
        bound = bound_by(node.body)
        self.state = state
        span = span_of(node, self.whole.path)
        own = bound.names - bound.elsewhere
        return Scope(self.whole, node.name, span, "class", own, parent=self, caught=self.caught), State()

    def typed(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, state: State) -> tuple[Scope, State]:
        """Open the scope around a definition that has its type parameters, which all inside it may read."""
        types = {one.name for one in getattr(node, "type_params", ())}
        if not types:
            return self, state
        self.state = state
        span = span_of(node, self.whole.path)
        scope = Scope(self.whole, node.name, span, "function", types, types, self, types, caught=self.caught)
        return scope, State(dict.fromkeys(types))

    def close(self) -> None:
        """Report what functions inside still miss, and write the scope down."""
        for late in self._late.values():
            gap, sure = late.gap, Sure.OPEN if late.caught else Sure.CERTAIN
            if gap is None:
                self.report(late.node, sure, f"`{self.label}` binds it nowhere on the way here")
            else:
                sure = Sure.OPEN if late.guarded else min(gap.sure, sure, Sure.LIKELY)
                self.report(late.node, sure, gap.why, gap.cause)
        seen = self.kind == "function" and _SHOWN.isdisjoint(self.bindings.asked)
        found = self.bindings.dead(self.whole.path) if seen else ()
        dead = tuple(one for one in found if one.name in self.own)
        self.whole.found.append(
            ScopeReads(self.label, self.span, self._count, tuple(self._unbound), dead, len(self.bindings.every))
        )

    def bind(
        self, name: str, state: State, node: ast.expr | ast.arg | None = None, made: ast.expr | None = None
    ) -> None:
        """Give a name a value, which functions defined before see as well."""
        state.names[name] = None
        self.bindings.add(name, state, node, made)
        for closure in state.closures:
            if closure in self._late and self._late[closure].node.id == name:
                del self._late[closure]

    def look_up(self, node: ast.Name, state: State) -> None:
        """Read a name."""
        self._count += 1
        self.bindings.read(node, state)
        if node.id.startswith("__") or self._is_hidden(node.id):
            return
        if node.id in (self.own if self.kind == "function" else state.names):
            self._read(node, self, state)
        else:
            self._outside(node)

    def _is_hidden(self, name: str) -> bool:
        """Whether a comprehension around gives a name its value."""
        scope: Scope | None = self
        while scope is not None:
            if any(name in names for names in scope.hidden):
                return True
            scope = scope.parent
        return False

    def _read(self, node: ast.Name, reader: Scope, state: State) -> None:
        """Read a name of this scope now, here or from a class body inside."""
        gap = state.names.get(node.id)
        if gap is not None:
            reader.report(node, gap.sure, gap.why, gap.cause)
        elif node.id not in state.names:
            sure = Sure.OPEN if node.id in self.outer else Sure.CERTAIN
            reader.report(node, sure, f"`{self.label}` binds it only later, or on another path")

    def _read_late(self, node: ast.Name, reader: Scope) -> None:
        """Read a name of this scope whenever the function inside it is called."""
        gap = self.state.names.get(node.id)
        if node.id in self.outer or (gap is None and node.id in self.state.names):
            return
        self._late[id(node)] = _Late(node, gap, reader.depth > 0, reader.caught > 0)
        self.state.closures.add(id(node))

    def _outside(self, node: ast.Name) -> None:
        """Look a name up in the scopes around, of which class bodies do not count."""
        scope, late = self, False
        while scope.parent is not None:
            late |= scope.kind == "function"
            scope = scope.parent
            scope.bindings.captured.add(node.id)
            if scope.kind == "function" and node.id in scope.own:
                if late:
                    scope._read_late(node, self)
                else:
                    scope._read(node, self, scope.state)
                return
        if node.id in _PROVIDED:
            return
        if node.id not in self.whole.names:
            self.report(node, Sure.OPEN if self.whole.reflects else Sure.CERTAIN, "nothing binds it")
        elif not late:
            scope._read(node, self, scope.state)
        elif node.id in self.whole.main_only and not self.whole.is_program(node):
            self.report(node, Sure.LIKELY, "only the block under `__main__` binds it")

    def report(self, node: ast.Name, sure: Sure, why: str, cause: ast.AST | None = None) -> None:
        """Note a name that may have no value where it is read."""
        path = self.whole.path
        where = span_of(cause, path) if isinstance(cause, ast.stmt) else None
        sure = Sure.OPEN if self.caught or self.whole.retold else sure
        self._unbound.append(Unbound(node.id, span_of(node, path), sure, why, where))
