"""How far a change reaches: the definitions that differ, what mentions them in any file, and what that mentions.

By syntax alone and by names, so it reaches too far rather than not far enough.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from jaxaudit.changes.alignment import Alignment, Side
from jaxaudit.changes.definitions import TOP, Contents, contents, imported, modules
from jaxaudit.changes.forms import Forms
from jaxaudit.changes.states import Comparison

Name = tuple[str, str]
"""The path of a file and the name of one of its definitions."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a change touches."""

    changed: tuple[Name, ...]
    """The definitions that are not the same in both states."""
    callers: tuple[Name, ...]
    """Definitions that mention those, directly or not."""
    callees: tuple[Name, ...]
    """Definitions that any of these mention, directly or not: what a changed argument reaches."""

    def paths(self, comparison: Comparison, *, callers: bool = True) -> tuple[str, ...]:
        """Return the files to audit, in order; without `callers` those alone that differ."""
        reached = (*self.callers, *self.callees) if callers else ()
        return tuple(sorted({*comparison.changed, *(path for path, _ in (*self.changed, *reached))}))


def scope_of(comparison: Comparison, sides: Alignment) -> Scope:
    """Return what the change between two states touches."""
    paths = sorted({*comparison.before.files, *comparison.after.files})
    known: dict[Forms, Contents] = {}
    graphs = [_Graph(side, paths, known) for side in (sides.before, sides.after)]
    changed = tuple(_changed(comparison, *graphs))
    users, used = _joined(graph.users for graph in graphs), _joined(graph.used for graph in graphs)
    callers = _reached(changed, users)
    callees = _reached((*changed, *callers), used)
    return Scope(changed, tuple(sorted(callers - {*changed})), tuple(sorted(callees - {*changed, *callers})))


def _changed(comparison: Comparison, before: _Graph, after: _Graph) -> Iterator[Name]:
    for path in comparison.changed:
        old, new = before.contents[path].definitions, after.contents[path].definitions
        for name in dict.fromkeys((*new, *old)):
            if name not in old or name not in new or old[name].content != new[name].content:
                yield path, name


class _Graph:
    """Which definition of a state mentions which."""

    def __init__(self, side: Side, paths: Collection[str], known: dict[Forms, Contents]) -> None:
        self.contents: dict[str, Contents] = {}
        for path in paths:
            forms = side.forms(path)
            self.contents[path] = known[forms] = known.get(forms) or contents(forms)
        self.modules = modules([path for path in paths if path in side.state.files])
        self.used: dict[Name, set[Name]] = defaultdict(set)
        self.users: dict[Name, set[Name]] = defaultdict(set)
        for path, one in self.contents.items():
            self._file(path, one)

    def _file(self, path: str, one: Contents) -> None:
        origins = {name: list(imported(dotted, self.modules)) for name, dotted in one.imports.items()}
        for definition in one.definitions.values():
            me = (path, definition.name)
            for name in definition.mentions:
                if name in one.definitions and name not in origins:
                    self._add(me, (path, name))
                for file, inner in origins.get(name, ()):
                    known = self.contents[file].definitions
                    # `import env` and then `env.step`: what is mentioned of the module counts.
                    wanted = [inner] if inner else [other for other in definition.mentions if other in known]
                    for other in wanted:
                        self._add(me, (file, other if other in known else TOP))

    def _add(self, user: Name, used: Name) -> None:
        if user != used:
            self.used[user].add(used)
            self.users[used].add(user)


def _joined(maps: Iterator[Mapping[Name, set[Name]]]) -> dict[Name, set[Name]]:
    joined: dict[Name, set[Name]] = defaultdict(set)
    for one in maps:
        for name, others in one.items():
            joined[name] |= others
    return joined


def _reached(start: Collection[Name], edges: Mapping[Name, set[Name]]) -> set[Name]:
    found = set(start)
    waiting = list(start)
    while waiting:
        for other in edges.get(waiting.pop(), ()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found
