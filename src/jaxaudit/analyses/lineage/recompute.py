"""Whether something is computed again exactly as it was when it was stored.

A rollout stores what it saw and what it computed from that; a loss computes the same again from what was stored. Both
computations are walked side by side. Where one uses a stored value and the other used something else, they part.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import Context, Origin, origin, same
from jaxaudit.ir import Op, Value

_DEEPEST = 40
_MOST = 400
_DRAWS = ("key.draw", "key.split", "key.seed", "key.fold_in", "py.unknown", "py.call_unknown")


@dataclass(frozen=True, slots=True)
class Parting:
    """Where the two computations part: what was used when it was stored, and what is used now."""

    then: Origin
    now: Origin


@dataclass(slots=True)
class Comparison:
    """What came of walking two computations side by side."""

    shared: list[Value] = field(default_factory=list)
    """Stored values that both use."""
    partings: list[Parting] = field(default_factory=list)
    steps: int = 0


def compare(flow: Flow, stored: Value, again: Value, context: Context) -> Comparison | None:
    """Compare how a stored value was computed with how another is computed; None when nothing was stored."""
    then = origin(flow, stored, context)
    if not then.stacked or then.op is None:
        return None
    found = Comparison()
    _walk(flow, then, origin(flow, again, context), found, 0)
    return found


def _walk(flow: Flow, then: Origin, now: Origin, found: Comparison, depth: int) -> None:
    found.steps += 1
    if same(flow, then, now):
        if now.stacked:
            found.shared.append(now.value)
        return
    if then.op is not None and now.op is not None and _alike(then.op, now.op) and not now.stacked:
        if depth < _DEEPEST and found.steps < _MOST:
            for before, after in zip(then.op.operands, now.op.operands, strict=True):
                _walk(flow, origin(flow, before, then.context), origin(flow, after, now.context), found, depth + 1)
        return
    if now.stacked:
        found.partings.append(Parting(then, now))


def _alike(first: Op, second: Op) -> bool:
    """Whether two ops do the same with their operands."""
    return (
        first.name == second.name
        and first.name not in _DRAWS
        and len(first.operands) == len(second.operands)
        and first.qualified == second.qualified
        and first.operator == second.operator
    )
