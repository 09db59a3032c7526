"""The one solver: makes the facts that rules need, each domain in one walk over the program, forward or backward."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from jaxaudit.analyses.axes import Axes, axes_of
from jaxaudit.analyses.backward import solve_backward
from jaxaudit.analyses.domain import Direction, Domain, Solution
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.forward import solve_forward
from jaxaudit.analyses.keys import KeyFacts, KeysDomain
from jaxaudit.analyses.parts import part_with
from jaxaudit.analyses.ranges import Ranges, RangesDomain
from jaxaudit.analyses.shapes import Shapes, ShapesDomain
from jaxaudit.analyses.tracing import TracingDomain, TracingFacts
from jaxaudit.analyses.uses import Uses, UsesDomain
from jaxaudit.analyses.versions import Versions, VersionsDomain
from jaxaudit.ir import Program, Region
from jaxaudit.ir.basis import Basis
from jaxaudit.ir.record import record, replace

Fact = TypeVar("Fact")


@record
class Source:
    """Where facts of one type come from: a domain that is solved, or what is read off other facts."""

    make: Callable[[Facts], object]
    after: tuple[type, ...] = ()
    """The facts that it reads, which are made first."""


DOMAINS: Mapping[type, tuple[Callable[[Facts], Domain[Any]], tuple[type, ...]]] = {
    KeyFacts: (KeysDomain, ()),
    Shapes: (ShapesDomain, ()),
    TracingFacts: (TracingDomain, ()),
    Ranges: (RangesDomain, (Shapes,)),
    Uses: (UsesDomain, ()),
    Versions: (VersionsDomain, ()),
}
"""Every domain by the type of what it finds, with the facts that it reads."""


def _by(domain: Callable[[Facts], Domain[Any]]) -> Callable[[Facts], object]:
    """Solve a domain, unless it can tell its result without."""

    def solved(facts: Facts) -> object:
        made = domain(facts)
        told = made.at_once(facts)
        return made.finish(facts, solve_domain(made.part(facts), made)) if told is None else told

    return solved


SOURCES: Mapping[type, Source] = {
    **{kind: Source(_by(domain), after) for kind, (domain, after) in DOMAINS.items()},
    Axes: Source(axes_of, after=(Shapes,)),
}
"""Everything that rules can ask for in `needs`."""


def solve(program: Program, needs: Collection[type]) -> Facts:
    """Solve the domains that rules need, each in one walk over the program."""
    facts = Facts(program)
    provide(facts, needs)
    return facts


def provide(facts: Facts, needs: Collection[type]) -> None:
    """Solve the domains that rules need, where that was not done before."""
    for kind in ordered(needs):
        _provide(facts, kind)


def ordered(needs: Collection[type]) -> list[type]:
    """Return what rules need in the order in which it is solved."""
    return sorted(needs, key=list(SOURCES).index)


def _provide(facts: Facts, kind: type) -> None:
    if kind not in facts.solved:
        source = SOURCES[kind]
        for base in source.after:
            _provide(facts, base)
        facts.solved[kind] = source.make(facts)


def rests_on_shapes(kind: type) -> bool:
    """Whether facts are those of shapes, or derived from them."""
    return Shapes in (kind, *SOURCES[kind].after)


def without_words(facts: Facts, root: Region) -> Facts:
    """Return the facts of a root with nothing that is only said: what stands in unchecked annotations."""
    declared = facts.program.declared
    checked = {value: one for value, one in declared.items() if one.basis is not Basis.SAID}
    certain = facts.memo(without_fields, root)
    return certain if len(checked) == len(declared) else _again(certain, replace(certain.program, declared=checked))


def without_fields(facts: Facts, root: Region) -> Facts:
    """Return the facts of a root with nothing assumed of fields of objects from outside."""
    return _again(facts, replace(part_with(facts, root), fields={}))


def _again(facts: Facts, program: Program) -> Facts:
    """Return the facts of another version of a program, or of its part; those that rest on shapes are not yet made."""
    return facts.anew(program, {kind: found for kind, found in facts.solved.items() if not rests_on_shapes(kind)})


def solve_domain(program: Program, domain: Domain[Fact]) -> Solution[Fact]:
    """Solve one domain for every root of a program."""
    solve_one = solve_backward if domain.direction is Direction.BACKWARD else solve_forward
    return Solution(domain, solve_one(program, domain))
