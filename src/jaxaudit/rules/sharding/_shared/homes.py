"""Which map over devices an op runs in."""

from __future__ import annotations

from jaxaudit.analyses.lineage import Flow
from jaxaudit.ir import Op, Region
from jaxaudit.ir.ops import DEVICE_MAPS


def home(flow: Flow, op: Op) -> Region:
    """Return the body of the innermost map over devices around an op; the root where none is around."""
    around = list(flow.places.up(flow.places.region_of[op]))
    mapped = (region for region, holder in around if holder is not None and holder.name in DEVICE_MAPS)
    return next(mapped, around[-1][0])
