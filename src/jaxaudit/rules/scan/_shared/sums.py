"""Sums that are written out: which terms were added up, one after the other."""

from __future__ import annotations

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import operands_of, walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import SUMS_OF_TWO


def adds(op: Op) -> bool:
    """Whether an op adds or subtracts element by element."""
    return op.name == "array.map" and op.function in SUMS_OF_TWO


def terms_of(value: Value, flow: Flow) -> list[Value]:
    """Return a value with everything that was added up for it: partial sums and single terms."""
    return list(walk((value,), lambda one: operands_of(flow, one, adds)))
