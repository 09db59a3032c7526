"""Solves a program while one domain sees nothing, or only some values: other facts of it are unknown, all else is as it was."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any
from unittest.mock import patch

from jaxaudit.analyses import solve
from jaxaudit.analyses.axes import Axes, axes_of
from jaxaudit.analyses.domain import Direction, Domain, Read, Transfer, any_branch, not_at_once
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts, KeysDomain
from jaxaudit.analyses.ranges import Ranges, RangesDomain
from jaxaudit.analyses.shapes import Shapes, ShapesDomain
from jaxaudit.analyses.tracing import TracingDomain, TracingFacts
from jaxaudit.analyses.uses import Uses, UsesDomain
from jaxaudit.analyses.versions import Versions, VersionsDomain
from jaxaudit.ir import Op, Program, Region, Value

Sight = Callable[[Value], bool]
"""Whether a domain may know a value."""


def nothing(value: Value) -> bool:
    """See no value."""
    return False


class Blind:
    """A domain that goes where another goes and learns nothing of values that it may not see.

    Its transfer functions run, since some note which ops were met where.
    """

    taken = any_branch
    at_once = not_at_once

    def __init__(self, domain: Domain[Any], sight: Sight) -> None:
        self.inner, self.sight = domain, sight
        self.name, self.direction = domain.name, domain.direction
        self.by_summary, self.widen_after = domain.by_summary, domain.widen_after
        self.join, self.widen, self.place, self.part = domain.join, domain.widen, domain.place, domain.part
        self.parts = domain.parts
        self.twins: dict[Value, Value] = {}
        self.table: Mapping[str, Transfer[Any]] = {name: self._dim(one) for name, one in domain.table.items()}

    def unknown(self, value: Value) -> Any:
        """Return what the domain says of a value that it never met: not even what declares it."""
        if self.sight(value):
            return self.inner.unknown(value)
        if isinstance(self.inner, KeysDomain):
            # A key that is not known stands for itself, so that what it is computed from can be asked.
            return self.inner.terms.atom(value, opaque=True)
        twin = self.twins.setdefault(value, Value(value.id, value.span, value.name))
        return self.inner.unknown(twin)

    def _reader(self, read: Read[Any]) -> Read[Any]:
        return lambda value: read(value) if self.sight(value) else self.unknown(value)

    def _seen(self, values: Iterable[Value], facts: Sequence[Any]) -> list[Any]:
        return [fact if self.sight(value) else None for value, fact in zip(values, facts, strict=False)]

    def _dim(self, transfer: Transfer[Any]) -> Transfer[Any]:
        def run(op: Op, read: Read[Any]) -> Sequence[Any]:
            return self._seen(self._ends(op), transfer(op, self._reader(read)))

        return run

    def _ends(self, op: Op) -> Sequence[Value]:
        return op.results if self.direction is Direction.FORWARD else op.operands

    def enter(self, op: Op, region: Region, read: Read[Any], turn: int) -> Sequence[Any]:
        made = self.inner.enter(op, region, self._reader(read), turn)
        values = region.params if self.direction is Direction.FORWARD else region.results
        return [fact if self.sight(value) else self.unknown(value) for value, fact in zip(values, made, strict=True)]

    def leave(self, op: Op, read: Read[Any]) -> Sequence[Any]:
        return self._seen(self._ends(op), self.inner.leave(op, self._reader(read)))

    def finish(self, facts: Facts, solution: solve.Solution[Any]) -> object:
        known = {value: self._reader(solution.of)(value) for value in facts.program.values()}
        return self.inner.finish(facts, solve.Solution(self.inner, known))


def _blind(domain: Callable[[Facts], Domain[Any]]) -> Callable[[Facts, Sight], object]:
    def made(facts: Facts, sight: Sight) -> object:
        blind = Blind(domain(facts), sight)
        return blind.finish(facts, solve.solve_domain(facts.program, blind))

    return made


def _axes(facts: Facts, sight: Sight) -> Axes:
    """Return axes of which none meets another, unless some may be seen: then what the shapes show."""
    return Axes({}, (), (), facts.places) if sight is nothing else axes_of(facts)


BLINDED: Mapping[type, Callable[[Facts, Sight], object]] = {
    KeyFacts: _blind(KeysDomain),
    Shapes: _blind(ShapesDomain),
    TracingFacts: _blind(TracingDomain),
    Ranges: _blind(RangesDomain),
    Axes: _axes,
    Uses: _blind(UsesDomain),
    Versions: _blind(VersionsDomain),
}
"""How facts of each type look where only some values may be known."""


def solve_blind(program: Program, needs: Collection[type], blinded: type, sight: Sight = nothing) -> Facts:
    """Solve what rules need, one kind of facts without knowledge; what is built on it is built on that."""
    source = solve.Source(lambda facts: BLINDED[blinded](facts, sight), solve.SOURCES[blinded].after)
    with patch.dict(solve.SOURCES, {blinded: source}):
        return solve.solve(program, needs)
