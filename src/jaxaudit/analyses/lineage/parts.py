"""Whether one value is a named part of another: `variables["params"]` of `variables`."""

from __future__ import annotations

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import Context, same
from jaxaudit.analyses.lineage.skeletons import skeleton
from jaxaudit.ir import Value


def part_of(flow: Flow, part: Value, whole: Value, context: Context) -> str:
    """Return the key under which the structure of one value lies in that of another, or an empty text.

    Only keys that are texts count: a row of an array is found by a number.
    """
    outer, inner = skeleton(flow, whole, context), skeleton(flow, part, context)
    further = inner.way[len(outer.way) :]
    if not further or inner.way[: len(outer.way)] != outer.way:
        return ""
    named = all(step.startswith(("['", '["')) for step in further)
    return "".join(further) if named and same(flow, inner.origin, outer.origin) else ""
