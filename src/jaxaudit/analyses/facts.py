"""All that is known of one program: what domains found, and what was computed once for all who ask.

Both live as long as these facts do: a process may hold the facts of many programs and lets go of each as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.paths import Places
from jaxaudit.ir import Program

Found = TypeVar("Found")
About = ParamSpec("About")

_NOT_MADE = object()


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts of one program, by the type that holds them: `facts.get(Shapes)`."""

    program: Program
    solved: dict[type, object] = field(default_factory=dict)
    _kept: dict[tuple[object, ...], object] = field(default_factory=dict)

    def get(self, kind: type[Found]) -> Found:
        """Return what one domain found; asking for one that no rule declared is a mistake in the rule."""
        found = self.find(kind)
        if found is None:
            raise KeyError(f"no facts of {kind.__name__}: declare it in the rule's `needs`")
        return found

    def find(self, kind: type[Found]) -> Found | None:
        """Return what one domain found, where it was solved."""
        found = self.solved.get(kind)
        return found if isinstance(found, kind) else None

    def memo(self, make: Callable[Concatenate[Facts, About], Found], *about: About.args, **more: About.kwargs) -> Found:
        """Return what a function makes of these facts and something of theirs, computed when it is first asked for."""
        key = (make, *about)
        found = self._kept.get(key, _NOT_MADE)
        if found is _NOT_MADE:
            found = self._kept[key] = make(self, *about, **more)
        return cast("Found", found)

    def anew(self, program: Program, solved: dict[type, object]) -> Facts:
        """Return facts of a program with the same ops, of whose values other things are said."""
        found = Facts(program, solved)
        found.__dict__.update(places=self.places, flow=self.flow)
        return found

    @cached_property
    def places(self) -> Places:
        """Where each op stands."""
        return Places.of(self.program)

    @cached_property
    def flow(self) -> Flow:
        """Who makes and who reads each value."""
        return Flow.of(self.program, self.places)


def remembered(make: Callable[[Facts], Found]) -> Callable[[Facts], Found]:
    """Let a function of facts run once for each program; the facts keep what it made."""

    @wraps(make)
    def ask(facts: Facts) -> Found:
        return facts.memo(make)

    return ask
