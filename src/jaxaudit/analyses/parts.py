"""Parts of a program that can be solved by themselves: a root, with the others that it reads values of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.queries import holders, walk
from jaxaudit.ir import Program, Region
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.record import replace


def roots_around(facts: Facts, regions: Iterable[Region]) -> set[Region]:
    """Return the regions of the roots that regions are run by."""
    roots = {root.region for root in facts.program.roots}
    places = facts.places.region_of
    return roots.intersection(walk(regions, lambda one: [places[op] for op in holders(facts.flow, one)]))


def part_with(facts: Facts, *roots: Region) -> Program:
    """Return the part of a program that the values of some roots depend on."""
    read = _read_by(facts)
    needed = set(walk(roots, lambda one: read.get(one, ())))
    return replace(facts.program, roots=tuple(one for one in facts.program.roots if one.region in needed))


def part_around(facts: Facts, roots: Iterable[Region]) -> Program:
    """Return the part of a program with some roots and those that depend on them, which can be solved by itself."""
    readers: defaultdict[Region, list[Region]] = defaultdict(list)
    for reader, homes in _read_by(facts).items():
        for home in homes:
            readers[home].append(reader)
    return part_with(facts, *walk(roots, lambda one: readers.get(one, ())))


@remembered
def _read_by(facts: Facts) -> Mapping[Region, set[Region]]:
    """Return for the region of each root those that make values which it reads; shared regions are closed."""
    places, top = facts.places, cache(facts.places.top)
    found: dict[Region, set[Region]] = {}
    for value, readers in places.escaped.items():
        if (home := places.region_of_value(value)) is not None:
            for reader in readers:
                found.setdefault(top(reader), set()).add(top(home))
    for value, kept in facts.program.kept.items():
        reader, makers = places.region_of_value(value), map(places.region_of_value, values_in(kept))
        if reader is not None:
            found.setdefault(top(reader), set()).update(top(one) for one in makers if one is not None)
    return found
