"""Whether something is computed again exactly as it was when it was stored.

A rollout stores what it saw and what it computed from that; a loss computes the same again from what was stored. Both
computations are walked side by side. Where one uses a stored value and the other used something else, they part.
"""

from __future__ import annotations

from dataclasses import field

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import Context, Origin, origin, same
from jaxaudit.ir import Op, Value
from jaxaudit.ir.ops import UNFOLLOWED
from jaxaudit.ir.record import mutable, record

_DRAWS = UNFOLLOWED | {"key.draw", "key.split", "key.seed", "key.fold_in"}


@record
class Parting:
    """Where the two computations part: what was used when it was stored, and what is used now."""

    then: Origin
    now: Origin


@mutable
class Comparison:
    """What came of walking two computations side by side."""

    shared: list[Value] = field(default_factory=list)
    """Stored values that both use."""
    partings: list[Parting] = field(default_factory=list)


def compare(flow: Flow, stored: Value, again: Value, context: Context) -> Comparison | None:
    """Compare how a stored value was computed with how another is computed; None when nothing was stored."""
    then = origin(flow, stored, context)
    if not then.stacked or then.op is None:
        return None
    found = Comparison()
    compared: set[tuple[Value, Value]] = set()
    pending = [(then, origin(flow, again, context))]
    while pending:
        before, now = pending.pop()
        if (before.value, now.value) in compared:
            continue
        compared.add((before.value, now.value))
        if same(flow, before, now):
            found.shared += [now.value] if now.stacked else []
        elif now.stacked:
            found.partings.append(Parting(before, now))
        elif before.op is not None and now.op is not None and _alike(before.op, now.op):
            pairs = [*zip(before.op.operands, now.op.operands, strict=True)]
            pending += [(origin(flow, x, before.context), origin(flow, y, now.context)) for x, y in reversed(pairs)]
    return found


def _alike(first: Op, second: Op) -> bool:
    """Whether two ops do the same with their operands."""
    return (
        first.name == second.name
        and first.name not in _DRAWS
        and len(first.operands) == len(second.operands)
        and first.qualified == second.qualified
        and first.operator == second.operator
    )
