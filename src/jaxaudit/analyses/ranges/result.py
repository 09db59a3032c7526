"""What rules and reports read of the ranges domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jaxaudit.analyses.ranges.facts import Range
from jaxaudit.analyses.ranges.look import Known, Look
from jaxaudit.analyses.ranges.refine import constraints
from jaxaudit.analyses.ranges.transfer.select import arm_range
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.ops import BRANCHES


@dataclass(frozen=True, slots=True)
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
