"""One scope while its statements are followed: its names, and where a name that it reads comes from."""

from __future__ import annotations

import ast
import builtins
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from jaxaudit.frontends.source.interpret.syntax import FunctionNode, walk
from jaxaudit.frontends.source.names.bindings import Bindings
from jaxaudit.frontends.source.names.bound import bound_by, parameters
from jaxaudit.frontends.source.names.paths import Gap, State
from jaxaudit.ir.reads import ScopeReads, Sure, Unbound
from jaxaudit.ir.record import mutable
from jaxaudit.spans import Span, span_of

_PROVIDED = frozenset(dir(builtins))
_NOTEBOOK = frozenset(("get_ipython", "display"))
"""What a notebook provides, and nothing else."""

LAMBDA = "lambda"
_SHOWN = frozenset(("locals", "vars", "eval", "exec"))
"""What may read all variables of the function that calls it."""


@mutable
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
    scopes: dict[ast.AST, Scope] = field(default_factory=dict)
    """Those that were followed to their end."""

    def is_program(self, node: ast.Name) -> bool:
        """Whether a place lies in what is run as a program alone."""
        return any(block.lineno <= node.lineno <= (block.end_lineno or block.lineno) for block in self.mains)


@mutable
class Turns:
    """The states in which turns of a loop end early."""

    breaks: list[State | None] = field(default_factory=list)
    continues: list[State | None] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Late:
    """A read inside a function, of a name that the scope around it had not bound when it was defined."""

    node: ast.Name
    reader: Scope
    through: str
    """The function or class of the scope around it that the read stands in."""
    gap: Gap | None
    guarded: bool
    """Whether a condition stands around it, which may be true just where there is a value."""
    caught: bool
    """Whether a `try` around it catches a missing name."""
    bound: bool = False
    """Whether some path binds the name after the definition."""
    early: str = ""
    """How it may be read without a value even so."""


@dataclass(slots=True, eq=False)
class Scope:
    """A function, class or module."""

    whole: Whole
    node: ast.Module | ast.ClassDef | FunctionNode
    label: str
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
    tried: int = 0
    """How many blocks around it may be there to fail."""
    may_fail: set[ast.stmt] = field(default_factory=set)
    """The statements in such blocks."""
    bindings: Bindings = field(default_factory=Bindings)
    _count: int = 0
    _unbound: list[Unbound] = field(default_factory=list)
    _late: defaultdict[str, list[_Late]] = field(default_factory=lambda: defaultdict(list))
    """What functions inside read before it was bound, by name."""
    _leads: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The names of this scope that each function inside reads."""

    def function(self, node: FunctionNode, state: State, label: str) -> tuple[Scope, State]:
        """Open the scope of a function that is defined here, and the state that it begins with."""
        params = parameters(node)
        bound = bound_by([node.body] if isinstance(node, ast.Lambda) else node.body)
        own = params.keys() | bound.own
        self.state = state
        free = params.keys() - bound.names - bound.outer
        scope, start = Scope(self.whole, node, label, "function", own, free, self, bound.outer), State()
        for name, param in params.items():
            scope.bind(name, start, param)
        return scope, start

    def class_(self, node: ast.ClassDef, state: State) -> tuple[Scope, State]:
        """Open the scope of a class that is defined here."""
        bound = bound_by(node.body)
        self.state = state
        own = bound.own
        return Scope(self.whole, node, node.name, "class", own, parent=self, caught=self.caught), State()

    def typed(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, state: State) -> tuple[Scope, State]:
        """Open the scope around a definition that has its type parameters, which all inside it may read."""
        types = {one.name for one in getattr(node, "type_params", ())}
        if not types:
            return self, state
        self.state = state
        scope = Scope(self.whole, node, node.name, "function", types, types, self, types, caught=self.caught)
        return scope, State(dict.fromkeys(types))

    def close(self, end: State | None = None) -> None:
        """Report what functions inside miss; those of a module may also be called after its end."""
        for late in (one for same in self._late.values() for one in same):
            if end is not None and late.node.id not in self.whole.main_only:
                self._ask(late, end, "the end of the module is reached without it")
            self._report(late)
        self.bindings.finish()
        self.whole.scopes[self.node] = self

    def record(self) -> ScopeReads:
        """Return what the scope reads, after all scopes around it are closed."""
        path, closed = self.whole.path, self._is_closed()
        dead = tuple(one for one in self.bindings.dead(path) if closed and one.name in self.own)
        renewed = tuple(one for one in self.bindings.renewed(path) if closed and one.name in self.own)
        computed = [one.name for one in self.bindings.every if closed and one.is_computed]
        span = Span(path, 1, 0, 1, 0) if isinstance(self.node, ast.Module) else span_of(self.node, path)
        return ScopeReads(
            self.label, span, self._count, tuple(self._unbound), dead, len(computed), renewed, self._unsure(computed)
        )

    def _unsure(self, computed: list[str]) -> str:
        """Return a name that functions inside read and that is given several values; empty where there is none."""
        counts = Counter(computed)
        unread = (one.name for number, one in enumerate(self.bindings.every) if number not in self.bindings.used)
        return next((name for name in unread if name in self.bindings.captured and counts[name] > 1), "")

    def _is_closed(self) -> bool:
        """Whether only what stands in it reads its variables."""
        return self.kind == "function" and _SHOWN.isdisjoint(self.bindings.asked)

    def _is_private(self, name: str) -> bool:
        """Whether nothing but the statements of this scope sees a name."""
        shared = name in self.bindings.captured or name in self.outer or name not in self.own
        return self._is_closed() and not shared

    def is_read(self, name: str, statement: ast.stmt) -> bool:
        """Whether something reads the value that a statement gives a name."""
        return not self.bindings.used.isdisjoint(self.bindings.of(name, statement))

    def is_unread(self, name: str, statement: ast.stmt) -> bool:
        """Whether the value that a statement gives a name is surely never read."""
        bound = self.bindings.of(name, statement)
        return bool(bound) and self._is_private(name) and self.bindings.used.isdisjoint(bound)

    def replaces(self, name: str, statement: ast.stmt) -> bool:
        """Whether a statement replaces what another one gave a name, and nothing has read it on some path."""
        return self._is_private(name) and bool(self.bindings.replaced(name, statement))

    def captured_and_rebound(self) -> frozenset[str]:
        """Return the variables that functions inside read and that are bound again after the first time."""
        if not self.bindings.captured:
            return frozenset()
        counts = Counter(one.name for one in self.bindings.every if one.statement is not None)
        again = {name for name, count in counts.items() if count > 1} | self.bindings.looped | self.outer
        return frozenset(self.bindings.captured & again)

    def unread_parameters(self) -> frozenset[str]:
        """Return the parameters that are never read nor bound again."""
        return frozenset(name for name in self.params - self.bindings.asked if self._is_private(name))

    def _report(self, late: _Late) -> None:
        gap, doubtful = late.gap, late.caught or self.kind == "module" or late.node.id in self.outer
        if late.bound:
            if late.early:
                late.reader.report(late.node, Sure.OPEN, late.early)
        elif gap is None:
            sure = Sure.OPEN if doubtful else Sure.CERTAIN
            inside = "only functions inside bind it" if late.node.id in self.outer else ""
            late.reader.report(late.node, sure, inside or f"`{self.label}` binds it nowhere on the way here")
        else:
            sure = Sure.OPEN if doubtful or late.guarded else min(gap.sure, Sure.LIKELY)
            late.reader.report(late.node, sure, gap.why, gap.cause)

    def bind(
        self, name: str, state: State, node: ast.expr | ast.arg | None = None, made: ast.expr | None = None
    ) -> None:
        """Give a name a value, which functions defined before see as well."""
        state.names[name] = None
        self.bindings.add(name, state, node, made)
        for late in self._late.get(name, ()):
            late.bound |= id(late.node) in state.closures

    def loosen(self, names: Collection[str], state: State, gap: Gap) -> None:
        """Let part of an expression bind names that may be left out when it runs."""
        for name in names:
            had = state.has(name)
            self.bind(name, state)
            state.names[name] = None if had else gap

    def mention(self, nodes: Iterable[ast.AST], state: State) -> None:
        """Count what annotations name as read: whether they are evaluated, and when, is open."""
        for node in walk(*nodes):
            if isinstance(node, ast.Name):
                self.bindings.read(node, state)
                scope = self
                while scope.parent is not None:
                    scope = scope.parent
                    scope.bindings.captured.add(node.id)

    def look_up(self, node: ast.Name, state: State) -> None:
        """Read a name."""
        self._count += 1
        self.bindings.read(node, state)
        if node.id[:2] == node.id[-2:] == "__" or self._is_hidden(node.id):
            return
        if node.id in (self.own if self.kind == "function" else state.names):
            self._read(node, self, state)
        else:
            self._outside(node)

    def _is_hidden(self, name: str) -> bool:
        """Whether a comprehension around gives a name its value."""
        scope: Scope | None = self
        while scope is not None:
            for names in scope.hidden:
                if name in names:
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
        if node.id in self._leads:
            self._use(node, state)

    def _use(self, node: ast.Name, state: State) -> None:
        """Ask what a function that is used here may read, by itself or in others, without a value."""
        reached = [node.id]
        for name in reached:
            reached += self._leads.get(name, set()).difference(reached)
        for same in (lates for name, lates in self._late.items() if not state.has(name)):
            for late in same:
                if late.through in reached:
                    self._ask(late, state, f"`{node.id}` is used on line {node.lineno}, before it is bound")

    def _ask(self, late: _Late, state: State, why: str) -> None:
        """Ask whether a name has a value where the function that reads it may be called."""
        if not late.early and not state.has(late.node.id):
            gap = state.names.get(late.node.id)
            late.early = why if gap is None else gap.why

    def _read_late(self, node: ast.Name, reader: Scope, through: Scope) -> None:
        """Read a name of this scope whenever the function inside it is called."""
        self._leads[through.label].add(node.id)
        if not self.state.has(node.id):
            gap = self.state.names.get(node.id)
            late = _Late(node, reader, through.label, gap, reader.depth > 0, reader.caught > 0)
            self._late[node.id].append(late)
            self.state.closures.add(id(node))
            if through.label == LAMBDA:
                # It has no name that tells where it is used.
                self._ask(late, self.state, f"{LAMBDA} is made before it is bound")

    def _outside(self, node: ast.Name) -> None:
        """Look a name up in the scopes around, of which class bodies do not count."""
        through, scope, late = self, self, False
        while scope.parent is not None:
            late |= scope.kind == "function"
            through, scope = scope, scope.parent
            scope.bindings.captured.add(node.id)
            if scope.kind == "function" and node.id in scope.own:
                if late:
                    scope._read_late(node, self, through)
                else:
                    scope._read(node, self, scope.state)
                return
        if node.id in _PROVIDED:
            return
        if node.id not in self.whole.names:
            notebook = node.id in _NOTEBOOK
            sure = Sure.OPEN if notebook or self.whole.reflects else Sure.CERTAIN
            self.report(node, sure, "only a notebook provides it" if notebook else "nothing binds it")
        elif not late:
            scope._read(node, self, scope.state)
        elif node.id in self.whole.main_only and not self.whole.is_program(node):
            self.report(node, Sure.LIKELY, "only the block under `__main__` binds it")
        else:
            scope._read_late(node, self, through)

    def report(self, node: ast.Name, sure: Sure, why: str, cause: ast.AST | None = None) -> None:
        """Note a name that may have no value where it is read."""
        path = self.whole.path
        where = span_of(cause, path) if isinstance(cause, ast.stmt) else None
        sure = Sure.OPEN if self.caught or self.whole.retold else sure
        self._unbound.append(Unbound(node.id, span_of(node, path), sure, why, where))
