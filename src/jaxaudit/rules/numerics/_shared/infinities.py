"""What becomes of infinities: they are masked away, harmless in an exponential, or mixed into everything else."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from math import isinf

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import ahead, walk
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import (
    BOUNDS,
    COMPARISONS,
    EXTREMES,
    FINITE_AT_INFINITY,
    LINEAR,
    NAN_SKIPPING,
    NAN_TESTS,
    PICKED_POSITIONS,
    SCALINGS,
)
from jaxaudit.ir.ops import MOVING, SELECTED
from jaxaudit.rules.base import Obligation, named

_REPLACES = NAN_TESTS | NAN_SKIPPING
"""Functions of somebody who has thought of NaN."""
_DEALS_WITH_INFINITY = _REPLACES | BOUNDS | COMPARISONS | EXTREMES | FINITE_AT_INFINITY | PICKED_POSITIONS


class Fate(Enum):
    """What becomes of a value."""

    CURED = "cured"
    """Something on its way deals with infinities: it is meant."""
    MIXED = "mixed"
    """It is summed up or multiplied with others: one infinity spoils all."""
    OPEN = "open"
    """It leaves, or goes where nobody can follow."""


def fate_of(value: Value, flow: Flow, *, fixed: bool = False) -> tuple[Fate, Op | None]:
    """Follow a result to the op that decides what its infinities do; a selection may leave out a `fixed` one."""
    mixer = None
    for current in walk((value,), lambda one: ahead(flow, one, _hands_on)):
        for op in flow.readers.get(current, ()):
            fate = Fate.CURED if fixed and op.name in (*SELECTED, "py.set_item") else _fate_in(op, current)
            if fate is Fate.CURED:
                return fate, op
            if fate is Fate.MIXED:
                # A product may still be masked later on.
                mixer = mixer or op
    return (Fate.OPEN if mixer is None else Fate.MIXED), mixer


def _fate_in(op: Op, value: Value) -> Fate:
    if op.is_derived:
        return Fate.OPEN
    if op.name in ("array.select", "key.draw", "array.order", "array.scatter", "array.at"):
        return Fate.CURED
    called = op.callee.rpartition(".")[2] if op.name == "py.call_unknown" else op.function
    if called in _DEALS_WITH_INFINITY:
        return Fate.CURED
    if op.name in ("array.reduce", "array.dot"):
        return Fate.MIXED if op.arguments.get("where") is None else Fate.CURED
    if op.name == "array.map" and op.function in ("log", "sqrt"):
        return Fate.MIXED
    others = [one for one in op.arguments.values() if one is not value]
    scales = op.name == "array.map" and op.function in SCALINGS
    return Fate.MIXED if scales and any(isinstance(one, Value) for one in others) else Fate.OPEN


def _hands_on(op: Op) -> bool:
    scales = op.name == "array.map" and op.function in LINEAR | SCALINGS | {"abs"}
    return scales or op.name in MOVING or op.name == "py.join"


def masks_times_infinity(program: Program, ranges: Ranges, flow: Flow) -> Iterator[Obligation]:
    """Return every product of a mask and infinity: zero times infinity is no zero but NaN."""
    for op in program.mapping("multiply"):
        values = [one for one in op.arguments.values() if isinstance(one, Value)]
        infinite = any(isinstance(one, float) and isinf(one) for one in op.arguments.values())
        if op.is_derived or not infinite or len(values) != 1 or not _has_zeros(values[0], ranges, flow):
            continue
        readers = flow.readers.get(op.results[0], ())
        if any(reader.name == "array.select" or reader.function in _REPLACES for reader in readers):
            continue
        yield Obligation(
            op.span,
            message=f"{named(values[0], 'a mask')} times infinity is NaN wherever it is 0",
            current="0 times infinity is NaN, not 0",
            expected="infinity where the mask says so, and 0 elsewhere",
            suggestion="`jnp.where(mask, jnp.inf, 0.0)`",
        )


def _has_zeros(value: Value, ranges: Ranges, flow: Flow) -> bool:
    """Whether a value is a mask, or what a mask leaves over: `1 - mask`."""
    op = flow.maker(value)
    rest = op.arguments.get("y") if op is not None and op.function == "subtract" else None
    inverts = op is not None and isinstance(rest, Value) and op.arguments.get("x") in (1, 1.0)
    known = ranges.of(rest if inverts and isinstance(rest, Value) else value)
    return known.is_mask and known.constant is None
