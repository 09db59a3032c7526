"""What rules and reports read of the ranges domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf

from jaxaudit.analyses.ranges.facts import Range
from jaxaudit.analyses.ranges.look import Known, Look
from jaxaudit.analyses.ranges.refine import constraints
from jaxaudit.analyses.ranges.transfer.select import arm_range
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.ops import BRANCHES
from jaxaudit.ir.record import record


@record
class Ranges:
    """The solved ranges domain."""

    facts: Mapping[Value, Range]
    """For each value what holds in all contexts."""
    known: Known
    otherwise: Callable[[Value], Range]

    def of(self, value: Value) -> Range:
        """Return the range of a value, covering every context it was seen in."""
        found = self.facts.get(value)
        return self.otherwise(value) if found is None else found

    def look(self, op: Op) -> Look:
        """Look at an op with the ranges that hold in all contexts."""
        return Look(op, self.of, self.known)

    def under(self, op: Op, condition: Argument, value: Argument, *, holds: bool) -> Range:
        """Return the range of a value for the elements where a condition holds, or where it does not."""
        look = self.look(op)
        return arm_range(look, value, constraints(look, condition, holds=holds))

    def within(self, holder: Op | None, op: Op, value: Value) -> Range:
        """Return the range of a value where an op stands: the branch that holds the op may say more."""
        if holder is None or holder.name not in BRANCHES or not holder.operands or len(holder.regions) != 2:
            return self.of(value)
        return self.under(holder, holder.operands[0], value, holds=op in holder.regions[0].ops)


def number_text(number: float) -> str:
    """Write a number the short way."""
    if abs(number) < 1e15 and number == int(number):
        return str(int(number))
    return f"{number:.4g}"


def interval_text(one: Range) -> str:
    """Write the interval; empty where both ends are open."""
    if one.low == one.high:
        return f"= {number_text(one.low)}" if one.low == one.low and abs(one.low) < inf else str(one.low)
    if one.is_bounded:
        return f"[{number_text(one.low)}, {number_text(one.high)}]"
    if one.low > -inf:
        return "> 0" if one.low == 0 and one.nonzero else f">= {number_text(one.low)}"
    if one.high < inf:
        return "< 0" if one.high == 0 and one.nonzero else f"<= {number_text(one.high)}"
    return "not 0" if one.nonzero else ""


def range_text(one: Range) -> str:
    """Write what is known of a value's elements; empty where that is nothing."""
    bounded, sums, *flags = _parts(one)
    return ", ".join(part for part in (bounded, sums, *flags) if part) if bounded or sums else ""


def _parts(one: Range) -> tuple[str, ...]:
    bounded = interval_text(one)
    if one.one_hot is not None:
        bounded = f"one-hot along axis {one.one_hot}"
    elif one.is_mask and one.low != one.high:
        bounded = "mask"
    elif one.integer and one.low != one.high:
        bounded = f"integer {bounded}" if bounded else ""
    sums = f"sums to 1 along axis {one.sums_to_one}" if one.sums_to_one is not None and one.one_hot is None else ""
    return (bounded, sums, "" if one.finite else "may be infinite", "may be NaN" if one.nan else "")
