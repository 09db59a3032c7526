"""Which values that a scope gives to names are read, and which are replaced, by any path."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import field

from jaxaudit.frontends.source.interpret.syntax import walk
from jaxaudit.frontends.source.names.paths import State
from jaxaudit.ir.reads import Dead, Renewed
from jaxaudit.ir.record import mutable, record
from jaxaudit.spans import Span, span_of


@record
class _Binding:
    name: str
    node: ast.expr | ast.arg
    made: ast.expr | None
    statement: ast.stmt | None
    """The statement that binds it; None for parameters."""
    sources: tuple[tuple[str, frozenset[int]], ...]
    """What the value is made of, as it is then."""
    before: frozenset[int]
    """The bindings that it replaces."""
    fresh: frozenset[int]
    """Those of them that nothing has read on some path."""
    moment: int
    loop: ast.stmt | None
    """The innermost loop around it."""

    @property
    def is_computed(self) -> bool:
        """Whether an assignment gives the value, rather than a caller, a loop or a context."""
        return isinstance(self.statement, ast.Assign | ast.AugAssign | ast.AnnAssign)


@mutable
class Bindings:
    """The bindings of one scope, in the order in which they are met."""

    every: list[_Binding] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    reads: defaultdict[int, list[tuple[int, ast.Name]]] = field(default_factory=lambda: defaultdict(list))
    """Where each binding is read, and when."""
    captured: set[str] = field(default_factory=set)
    """Names that functions and classes inside read."""
    looped: set[str] = field(default_factory=set)
    """Names that loops bind."""
    asked: set[str] = field(default_factory=set)
    """Names that are read."""
    moment: int = 0
    statement: ast.stmt | None = None
    """The one that is followed."""
    loops: list[ast.stmt] = field(default_factory=list)
    """The loops that are open."""
    _places: defaultdict[tuple[str, ast.stmt | None], list[int]] = field(default_factory=lambda: defaultdict(list))
    _turns: list[tuple[frozenset[int], frozenset[int]]] = field(default_factory=list)
    """What turns of a loop leave to the next in a name, and what of it is unread; `-1 - number` stands for it."""

    def add(self, name: str, state: State, node: ast.expr | ast.arg | None, made: ast.expr | None) -> None:
        """Note that a name gets a value, whose expression may be known."""
        before, fresh = state.made.get(name, frozenset()), state.fresh.get(name, frozenset())
        if node is None:
            state.made[name] = state.fresh[name] = frozenset()
            return
        read = () if made is None else dict.fromkeys(one.id for one in walk(made) if isinstance(one, ast.Name))
        sources = tuple((one, state.made.get(one, frozenset())) for one in read)
        state.made[name] = state.fresh[name] = frozenset((len(self.every),))
        loop = self.loops[-1] if self.loops else None
        self.every.append(_Binding(name, node, made, self.statement, sources, before, fresh, self.moment, loop))

    def read(self, node: ast.Name, state: State) -> None:
        """Note that a name is read."""
        self.moment += 1
        self.asked.add(node.id)
        for binding in state.made.get(node.id, ()):
            self.used.add(binding)
            self.reads[binding].append((self.moment, node))
        state.fresh.pop(node.id, None)

    def begin_turn(self, names: Iterable[str], state: State) -> dict[str, int]:
        """Let a turn of a loop see what the one before it, which is not known yet, leaves in some names."""
        numbers: dict[str, int] = {}
        self.looped.update(names)
        for name in names:
            self._turns.append((frozenset(), frozenset()))
            numbers[name] = -len(self._turns)
            one = frozenset((numbers[name],))
            state.made[name] = state.made.get(name, frozenset()) | one
            state.fresh[name] = state.fresh.get(name, frozenset()) | one
        return numbers

    def end_turn(self, numbers: dict[str, int], state: State) -> None:
        """Say what a turn leaves to the next."""
        for name, number in numbers.items():
            left = state.made.get(name, frozenset()), state.fresh.get(name, frozenset())
            self._turns[-1 - number] = left

    def spread(self, first: int, state: State) -> None:
        """Let a state see every binding from one on: an exception may have come right after it."""
        for number in range(first, len(self.every)):
            name, one = self.every[number].name, frozenset((number,))
            state.made[name] = state.made.get(name, frozenset()) | one
            state.fresh[name] = state.fresh.get(name, frozenset()) | one

    def finish(self) -> None:
        """Count as read what turns of loops left to a later one that reads it."""
        self.used = {*self._reached(self.used, 0)}

    def _reached(self, numbers: Iterable[int], kind: int) -> list[int]:
        """Return some bindings, with those that they stand for in loops."""
        found = dict.fromkeys(numbers)
        pending = [one for one in found if one < 0]
        for number in pending:
            more = self._turns[-1 - number][kind] - found.keys()
            found.update(dict.fromkeys(more))
            pending += [one for one in more if one < 0]
        return [one for one in found if one >= 0]

    def of(self, name: str, statement: ast.stmt) -> list[int]:
        """Return the bindings of a name by a statement."""
        if not self._places:
            for number, one in enumerate(self.every):
                self._places[one.name, one.statement].append(number)
        return self._places.get((name, statement), [])

    def replaced(self, name: str, statement: ast.stmt) -> set[ast.stmt | None]:
        """Return the other statements whose value of a name is replaced here, unread on some path."""
        fresh = (old for one in self.of(name, statement) for old in self._reached(self.every[one].fresh, 1))
        return {self.every[old].statement for old in fresh} - {statement, None}

    def dead(self, path: str) -> Iterator[Dead]:
        """Return the values that nothing reads."""
        names = Counter(one.name for one in self.every)
        replaced = {old: one.node for one in self.every for old in one.before}
        for number, one in enumerate(self.every):
            if number in self.used or one.name in self.captured:
                continue
            again = replaced.get(number)
            if again is None and not one.is_computed:
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

    def renewed(self, path: str) -> Iterator[Renewed]:
        """Return the values that loops give to variables while they call functions made of an earlier value."""
        for number, one in enumerate(self.every):
            if one.loop is None or not one.is_computed or one.name in self.captured:
                continue
            before, loop = {*self._reached(one.before, 0)}, span_of(one.loop, path)
            made_of = [(old.name, old.made) for old in self.every if _is_of(old, one.name, before)]
            makers = [(name, span_of(made, path)) for name, made in made_of if made is not None]
            outside = [(name, made) for name, made in makers if not loop.covers(made)]
            called = [node for node in walk(one.loop) if isinstance(node, ast.Call)] if outside else ()
            names = [(node.func.id, span_of(node, path)) for node in called if isinstance(node.func, ast.Name)]
            calls = tuple((call, made) for called, call in names for name, made in outside if name == called)
            if calls:
                yield Renewed(one.name, span_of(one.node, path), calls, number not in self.used)

    def _instead(self, one: _Binding, path: str) -> Iterator[tuple[str, Span]]:
        """Return where what a value was made of is read later on, as it was."""
        for name, made in one.sources:
            reads = (read for binding in made for read in self.reads[binding])
            yield from ((name, span_of(node, path)) for moment, node in reads if moment > one.moment)


def _is_of(one: _Binding, name: str, values: Collection[int]) -> bool:
    """Whether a value is made of a variable as it was under some bindings."""
    return any(source == name and not made.isdisjoint(values) for source, made in one.sources)
