"""Angles in the wrong unit: degrees in a sine, a conversion of what is converted already."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.meaning.angles import CONVERSIONS, RADIANS, Angle, Angles
from jaxaudit.analyses.meaning.kinds import tail
from jaxaudit.ir import Op, Value
from jaxaudit.rules.base import Obligation, Step, Verdict

RULE = "meaning-mismatch"

_TRIGONOMETRY = ("sin", "cos", "tan")


def angles_in_wrong_unit(flow: Flow) -> Iterator[Obligation]:
    """Judge every sine, cosine, tangent and conversion whose argument is an angle of a known unit."""
    angles = Angles(flow)
    for op in flow.program.mapping(*_TRIGONOMETRY, *CONVERSIONS):
        if op.backward or not op.operands:
            continue
        conversion = (RADIANS, "", op.operands[0]) if tail(op) in _TRIGONOMETRY else angles.converts(op)
        if conversion is not None:
            wanted, _, value = conversion
            found = angles.of(value)
            if found is not None:
                yield _fits(op, found) if found.unit == wanted else _clash(op, value, found, wanted)


def _fits(op: Op, found: Angle) -> Obligation:
    reason = f"{_deed(op)} is given {found.unit} (line {found.made.span.line}), which it takes"
    return Obligation(RULE, op.span, Verdict.PROVED, reason)


def _deed(op: Op) -> str:
    return "the conversion" if tail(op) in ("multiply", "divide") else f"`{tail(op)}`"


def _clash(op: Op, value: Value, found: Angle, wanted: str) -> Obligation:
    name = f"`{value.name}`" if value.name else "what it is given"
    converts = tail(op) not in _TRIGONOMETRY
    return Obligation(
        RULE,
        op.span,
        Verdict.VIOLATED,
        message=f"{_deed(op)} takes {wanted}, but {name} is in {found.unit}",
        current="the angle is converted a second time" if converts else "the angle is off by a factor of 57.3",
        expected=f"an angle in {wanted}",
        steps=(Step(found.made.span, f"it is made in {found.unit} here"),),
        suggestion="leave one conversion out" if converts else "convert it with `jnp.deg2rad`, or keep it in radians",
    )
