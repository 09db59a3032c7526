"""Which values that a scope gives to names are read, by any path."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from jaxaudit.frontends.source.interpret.syntax import walk
from jaxaudit.frontends.source.names.paths import State
from jaxaudit.ir.reads import Dead
from jaxaudit.spans import Span, span_of


@dataclass(frozen=True, slots=True)
class _Binding:
    name: str
    node: ast.expr | ast.arg
    made: ast.expr | None
    sources: tuple[tuple[str, frozenset[int]], ...]
    """What the value is made of, as it is then."""
    before: frozenset[int]
    """The bindings that it replaces."""
    moment: int


@dataclass(slots=True)
class Bindings:
    """The bindings of one scope, in the order in which they are met."""

    every: list[_Binding] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    reads: defaultdict[int, list[tuple[int, ast.Name]]] = field(default_factory=lambda: defaultdict(list))
    """Where each binding is read, and when."""
    captured: set[str] = field(default_factory=set)
    """Names that functions and classes inside read."""
    asked: set[str] = field(default_factory=set)
    """Names that are read."""
    moment: int = 0

    def add(self, name: str, state: State, node: ast.expr | ast.arg | None, made: ast.expr | None) -> None:
        """Note that a name gets a value, whose expression may be known."""
        before = state.made.get(name, frozenset())
        if node is None:
            state.made[name] = frozenset()
            return
        read = () if made is None else {one.id for one in walk(made) if isinstance(one, ast.Name)}
        sources = tuple((one, state.made.get(one, frozenset())) for one in read)
        state.made[name] = frozenset((len(self.every),))
        self.every.append(_Binding(name, node, made, sources, before, self.moment))

    def read(self, node: ast.Name, state: State) -> None:
        """Note that a name is read."""
        self.moment += 1
        self.asked.add(node.id)
        for binding in state.made.get(node.id, ()):
            self.used.add(binding)
            self.reads[binding].append((self.moment, node))

    def use(self, nodes: list[ast.AST], state: State) -> None:
        """Count what some code reads as read in a state that may lead back to it."""
        for one in nodes:
            if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Store):
                self.used |= state.made.get(one.id, frozenset())

    def use_since(self, first: int, nodes: list[ast.AST]) -> None:
        """Count what some code reads as read, whichever binding from one on it may see."""
        names = {one.id for one in nodes if isinstance(one, ast.Name)}
        self.used |= {number for number in range(first, len(self.every)) if self.every[number].name in names}

    def dead(self, path: str) -> Iterator[Dead]:
        """Return the values that nothing reads."""
        names = Counter(one.name for one in self.every)
        replaced = {old: one.node for one in self.every for old in one.before}
        for number, one in enumerate(self.every):
            if number in self.used or one.name in self.captured:
                continue
            again = replaced.get(number)
            if one.made is None and again is None:
                continue
            yield Dead(
                one.name,
                span_of(one.node, path),
                None if one.made is None else span_of(one.made, path),
                isinstance(one.node, ast.arg),
                tuple(dict.fromkeys(self._instead(one, path))),
                None if again is None else span_of(again, path),
                any(name == one.name for name, _ in one.sources),
                names[one.name] - 1,
            )

    def _instead(self, one: _Binding, path: str) -> Iterator[tuple[str, Span]]:
        """Return where what a value was made of is read later on, as it was."""
        for name, made in one.sources:
            reads = (read for binding in made for read in self.reads[binding])
            yield from ((name, span_of(node, path)) for moment, node in reads if moment > one.moment)
