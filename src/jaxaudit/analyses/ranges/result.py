"""What rules and reports read of the ranges domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jaxaudit.analyses.ranges.facts import Range
from jaxaudit.analyses.ranges.look import Known
from jaxaudit.ir import Value


@dataclass(frozen=True, slots=True)
class Ranges:
    """The solved ranges domain."""

    facts: Mapping[Value, Range]
    """For each value what holds in all contexts."""
    known: Known
    otherwise: Callable[[Value], Range]

    def of(self, value: Value) -> Range:
        """Give the range of a value, covering every context it was seen in."""
        found = self.facts.get(value)
        return self.otherwise(value) if found is None else found
