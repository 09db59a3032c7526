"""Masks that are multiplied with infinity: zero times infinity is no zero but NaN."""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, Verdict
from jaxaudit.rules.numerics._shared.domains import short


def infinite_factors(rule: str, program: Program, ranges: Ranges, flow: Flow) -> Iterator[Obligation]:
    """Return every product of a mask and infinity."""
    for op in program.mapping("multiply"):
        if op.is_derived:
            continue
        values = [one for one in op.arguments.values() if isinstance(one, Value)]
        infinite = any(isinstance(one, float) and isinf(one) for one in op.arguments.values())
        if infinite and len(values) == 1 and _has_zeros(values[0], ranges, flow):
            if not any(_cures(reader) for reader in flow.readers.get(op.results[0], ())):
                yield _told(rule, op, values[0])


def _cures(reader: Op) -> bool:
    """Whether an op may replace NaN by something else."""
    return reader.name == "array.select" or short(reader) in ("nan_to_num", "isnan", "isfinite", "nansum", "nanmax")


def _has_zeros(value: Value, ranges: Ranges, flow: Flow) -> bool:
    """Whether a value is a mask, or what a mask leaves over: `1 - mask`."""
    known = ranges.of(value)
    op = flow.maker(value)
    rest = op.arguments.get("y") if op is not None and short(op) == "subtract" else None
    if op is not None and isinstance(rest, Value) and op.arguments.get("x") in (1, 1.0):
        known = ranges.of(rest)
    return known.is_mask and known.constant is None


def _told(rule: str, op: Op, mask: Value) -> Obligation:
    name = f"`{mask.name}`" if mask.name else "a mask"
    return Obligation(
        rule,
        op.span,
        Verdict.VIOLATED,
        message=f"{name} times infinity is NaN wherever it is 0",
        current="0 times infinity is NaN, not 0",
        expected="infinity where the mask says so, and 0 elsewhere",
        suggestion="`jnp.where(mask, jnp.inf, 0.0)`",
    )
