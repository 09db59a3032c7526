"""Which regions run under a `vmap`, through calls and shared bodies too."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.ir import Op, Region

_MAPS = ("vmap", "pmap")


@remembered
def mapped_regions(facts: Facts) -> frozenset[int]:
    """Return the identities of all regions that a `vmap` runs, in one walk over the program."""
    found: set[int] = set()
    pending = [region for op in facts.program.named(*_MAPS) for region in op.regions]
    while pending:
        region = pending.pop()
        if id(region) not in found:
            found.add(id(region))
            pending.extend(_inside(region))
    return frozenset(found)


def _inside(region: Region) -> Iterator[Region]:
    return (inner for op in region.ops for inner in op.regions)


@remembered
def mapped_ops(facts: Facts) -> tuple[Op, ...]:
    """Return every op that runs under a `vmap`, once."""
    regions = mapped_regions(facts)
    return tuple([op for region in facts.program.regions() if id(region) in regions for op in region.ops])
