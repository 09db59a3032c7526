"""Which regions run under a `vmap`, through calls and shared bodies too."""

from __future__ import annotations

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op


@remembered
def mapped_regions(facts: Facts) -> frozenset[int]:
    """Return the identities of all regions that a `vmap` runs, in one walk over the program."""
    starts = [id(region) for op in facts.program.named("vmap", "pmap") for region in op.regions]
    inner = {id(region): [id(one) for op in region.ops for one in op.regions] for region in facts.program.regions()}
    return frozenset(walk(starts, inner.__getitem__)) if starts else frozenset()


@remembered
def mapped_ops(facts: Facts) -> tuple[Op, ...]:
    """Return every op that runs under a `vmap`, once."""
    regions = mapped_regions(facts)
    return tuple([op for region in facts.program.regions() if id(region) in regions for op in region.ops])
