"""Places computed of values that were clipped: `floor(clip(x, 0, 1) * n)` is `n` wherever `x` is too large."""

from __future__ import annotations

from math import ceil, floor, inf

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import last
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import BOUNDS, ROUNDED, SCALINGS, SUMS_OF_TWO
from jaxaudit.ir.ops import KEEPING
from jaxaudit.ir.record import record

_GROWING = SUMS_OF_TWO | SCALINGS
_CLOSE = 1e-6
"""How far bounds may be off a whole number that is meant, since fractions are rounded."""


@record
class Clipped:
    """The largest place there is, for all values from a bound on."""

    most: int
    source: Op
    """What clips."""


def clipped(index: Value, facts: Facts) -> Clipped | None:
    """Return the largest of some places, where values that were clipped surely have it; None for all others."""
    ranges, flow = facts.get(Ranges), facts.flow
    rounding: list[Op] = []

    def before(one: Value) -> Value | None:
        op = flow.maker(one)
        if op is not None and op.name == "array.map" and op.function in ROUNDED and len(op.operands) == 1:
            rounding.append(op)
            return op.operands[0]
        return op.operands[0] if op is not None and op.name in KEEPING and len(op.operands) == 1 else None

    exact = last(index, before)
    high = ranges.of(exact).high
    source = _bound(exact, facts)
    if source is None or high == inf or ranges.of(exact).integer:
        return None
    near = round(high)
    if abs(high - near) > _CLOSE * max(1.0, abs(high)):
        near = ceil(high) if any(op.function == "ceil" for op in rounding) else floor(high)
    return Clipped(near, source)


def _bound(value: Value, facts: Facts) -> Op | None:
    """Return what clips a value, before something was added to it or it was scaled by a positive number."""
    ranges, flow = facts.get(Ranges), facts.flow

    def before(one: Value) -> Value | None:
        op = flow.maker(one)
        if op is None or op.name != "array.map" or op.function not in _GROWING:
            return op.operands[0] if op is not None and op.name in KEEPING and len(op.operands) == 1 else None
        x, y = op.arguments.get("x"), op.arguments.get("y")
        numbers = [ranges.look(op).of(part).constant for part in (x, y)]
        if op.function in ("add", "multiply") and numbers[1] is None:
            x, numbers = y, numbers[::-1]
        grows = op.function in SUMS_OF_TWO or (numbers[1] or 0) > 0
        return x if isinstance(x, Value) and numbers[1] is not None and grows else None

    op = flow.maker(last(value, before))
    given = op.value("arr", "a", "x", "array") if op is not None and op.function in BOUNDS else None
    most = op.argument("max", "a_max") if op is not None and op.name == "array.select" else None
    if op is None or given is None or most is None:
        return None
    bound = ranges.look(op).of(most).constant
    return op if bound is not None and ranges.of(given).high > bound else None
