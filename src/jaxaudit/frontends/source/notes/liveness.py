"""Which binding of a variable each read of it sees, path by path: syntax alone.

A forward walk over the statements of one function. A binding that no read sees on any path is dead; one that is
replaced before it is read on some path is overwritten there. Any doubt counts as a read.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from jaxaudit.frontends.source.interpret.syntax import walk

Names = dict[str, frozenset[ast.stmt]]
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_LOOPS = ast.For | ast.AsyncFor | ast.While


@dataclass(slots=True, eq=False)
class State:
    """Which bindings a place of the program may see, and those of them that nothing has read on some path to it."""

    seen: Names
    fresh: Names

    def copy(self) -> State:
        """Return the same, to be changed on its own."""
        return State(dict(self.seen), dict(self.fresh))


def _join(states: Iterable[State | None]) -> State | None:
    """Return what holds on one path or another; None where no path leads on."""
    found = [one for one in states if one is not None]
    if not found:
        return None
    joined = found[0].copy()
    for other in found[1:]:
        for mine, theirs in ((joined.seen, other.seen), (joined.fresh, other.fresh)):
            for name, bound in theirs.items():
                mine[name] = mine.get(name, frozenset()) | bound
    return joined


@dataclass(slots=True, eq=False)
class Liveness:
    """The bindings of one function that are read, and those that others replace."""

    read: set[tuple[str, ast.stmt]] = field(default_factory=set)
    overwritten: defaultdict[tuple[str, ast.stmt], set[ast.stmt]] = field(default_factory=lambda: defaultdict(set))
    """For a binding, the earlier ones of the same name that reach it unread on some path."""
    _leaving: list[dict[type[ast.stmt], list[State]]] = field(default_factory=list)
    """For each loop around a place, the states in which it is left by `break` or `continue`."""
    _raised: list[list[State]] = field(default_factory=list)
    """For each `try` around a place, the states in which an exception may leave it."""

    def is_read(self, name: str, binding: ast.stmt) -> bool:
        """Whether anything may read what a statement binds to a name."""
        return (name, binding) in self.read

    def block(self, body: Iterable[ast.stmt], state: State | None) -> State | None:
        """Go through statements in order; None where no path leads to their end."""
        for statement in body:
            if state is None:
                return None
            self._may_raise(state)
            state = self._statement(statement, state.copy())
            self._may_raise(state)
        return state

    def _may_raise(self, state: State | None) -> None:
        if self._raised and state is not None:
            self._raised[-1].append(state)

    def _statement(self, node: ast.stmt, state: State) -> State | None:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                self._reads(test, state, node)
                return _join((self.block(body, state), self.block(orelse, state)))
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(node, state)
            case ast.Try() | ast.TryStar():
                return self._try(node, state)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    self._reads(item, state, node)
                return self.block(body, state)
            case ast.Match(subject=subject, cases=cases):
                self._reads(subject, state, node)
                return _join((state, *(self._case(node, case, state.copy()) for case in cases)))
            case ast.Break() | ast.Continue():
                if self._leaving:
                    self._leaving[-1][type(node)].append(state)
                return None
        self._reads(node, state, node)
        return None if isinstance(node, ast.Return | ast.Raise) else state

    def _case(self, node: ast.stmt, case: ast.match_case, state: State) -> State | None:
        self._reads(case.pattern, state, node)
        if case.guard is not None:
            self._reads(case.guard, state, node)
        return self.block(case.body, state)

    def _loop(self, node: _LOOPS, before: State) -> State | None:
        """Go through turns until nothing more reaches the next one."""
        if not isinstance(node, ast.While):
            self._reads(node.iter, before, node)
        start: State | None = before
        while True:
            turn = start.copy() if start is not None else before
            self._reads(node.test if isinstance(node, ast.While) else node.target, turn, node)
            self._leaving.append({ast.Break: [], ast.Continue: []})
            end = self.block(node.body, turn)
            left = self._leaving.pop()
            following = _join((start, end, *left[ast.Continue]))
            if following is None or (start is not None and _same(following, start)):
                break
            start = following
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        over = None if endless else self.block(node.orelse, _join((start, turn)))
        return _join((over, *left[ast.Break]))

    def _try(self, node: ast.Try | ast.TryStar, state: State) -> State | None:
        self._raised.append([state])
        end = self.block(node.body, state)
        raised = _join(self._raised.pop())
        handled = [self._handler(node, one, raised) for one in node.handlers]
        over = _join((self.block(node.orelse, end), *handled))
        if node.finalbody and over is None:
            # It runs on the way out, whatever happened.
            self.block(node.finalbody, raised)
            return None
        return self.block(node.finalbody, _join((over, raised)) if node.finalbody else over)

    def _handler(self, node: ast.stmt, handler: ast.ExceptHandler, raised: State | None) -> State | None:
        if raised is not None and handler.type is not None:
            self._reads(handler.type, raised, node)
        return self.block(handler.body, raised)

    def _reads(self, node: ast.AST, state: State, statement: ast.stmt) -> None:
        """Let a part of a statement read what it mentions, and then bind what it binds."""
        # What an inner function takes from here is shared, and nobody asks for it.
        nodes = [] if isinstance(node, _DEFINITIONS) else walk(node)
        for one in nodes:
            if isinstance(one, ast.Name) and (
                statement.__class__ is ast.AugAssign or one.ctx.__class__ is not ast.Store
            ):
                # Deleting a name says that it is not needed: that counts as having seen it.
                self.read.update((one.id, bound) for bound in state.seen.get(one.id, ()))
                state.fresh.pop(one.id, None)
        for name in dict.fromkeys(_bound(node, nodes)):
            self.overwritten[name, statement].update(state.fresh.get(name, ()))
            state.seen[name] = state.fresh[name] = frozenset((statement,))


def _bound(node: ast.AST, nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Return the names that a part of a statement binds in its own scope."""
    if isinstance(node, _DEFINITIONS):
        yield node.name
        return
    # The variables of a comprehension are its own.
    own = {id(one) for inner in nodes if isinstance(inner, ast.comprehension) for one in walk(inner.target)}
    for one in nodes:
        match one:
            case ast.Name(id=name, ctx=ast.Store()) if id(one) not in own:
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name


def _same(first: State, second: State) -> bool:
    return first.seen == second.seen and first.fresh == second.fresh


def liveness_of(body: Iterable[ast.stmt]) -> Liveness:
    """Go through the body of a function."""
    found = Liveness()
    found.block(body, State({}, {}))
    return found
