"""Whether something is computed again exactly as it was when it was stored.

A rollout stores what it saw and what it computed from that; a loss computes the same again from what was stored. Both
computations are walked side by side. Where one uses a stored value and the other used something else, they part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import Context, Origin, origin, same
from jaxaudit.analyses.queries import taken_apart
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import DENSITIES, DRAWN_WITH_DENSITY
from jaxaudit.ir.interfaces import Part
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
        else:
            pairs = [*zip(*_made_of(flow, before, now), strict=False)]
            pending += [(origin(flow, x, before.context), origin(flow, y, now.context)) for x, y in reversed(pairs)]
    return found


def _made_of(flow: Flow, before: Origin, now: Origin) -> tuple[Sequence[Value], Sequence[Value]]:
    """Return what two values were made of in the same way, each in the same order; nothing where they were not."""
    if before.op is not None and now.op is not None and _alike(before.op, now.op):
        return before.op.operands, now.op.operands
    first, second = _density(flow, before), _density(flow, now)
    return (first, second) if first and second else ((), ())


def _density(flow: Flow, one: Origin) -> Sequence[Value]:
    """Return the distribution whose density a value is, and where: at a value that is given, or at its own sample."""
    op = one.op
    if op is not None and op.function in DENSITIES and len(op.operands) == 2 and op.value("self") is not None:
        return op.operands
    part = Part.of(op, one.value)
    draw = None if part is None else flow.maker(part.whole)
    if part is None or draw is None or draw.function not in DRAWN_WITH_DENSITY or part.at != 1:
        return ()
    distribution, sample = draw.value("self"), taken_apart(flow, part.whole).get(0)
    return () if distribution is None or sample is None else (distribution, sample)


def _alike(first: Op, second: Op) -> bool:
    """Whether two ops do the same with their operands."""
    return (
        first.name == second.name
        and first.name not in _DRAWS
        and len(first.operands) == len(second.operands)
        and first.qualified == second.qualified
        and first.operator == second.operator
    )
