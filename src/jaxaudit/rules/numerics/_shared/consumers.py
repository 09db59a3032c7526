"""What becomes of a result that may be infinite: masked away, harmless in an exponential, or mixed into the rest."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.ir import Op, Value
from jaxaudit.ir.ops import BODIES
from jaxaudit.rules.numerics._shared.domains import short

_MOST = 40

_KEEPS = frozenset({"array.reshape", "array.permute", "array.expand", "array.squeeze", "array.convert", "array.gather"})
_KEEPS |= {"py.item", "grad.stop", "device.place", "py.join"}
_PARTS = frozenset({"py.item", "py.set_item", "array.gather", "array.split", "py.unpack"})
_SAME = frozenset("negative add subtract abs".split())
_MIXES = frozenset("sum mean prod average nansum dot matmul einsum".split())
_SCALES = frozenset("multiply divide".split())
_CURES = frozenset(
    """
    where select select_n clip clamp maximum minimum max min exp softmax log_softmax logsumexp isfinite isinf isnan
    nan_to_num categorical argmax argmin greater less greater_equal less_equal equal not_equal logaddexp sigmoid tanh
       nanmax nanmean sort argsort top_k expm1
    """.split()
)


class Fate(Enum):
    """What becomes of a value."""

    CURED = "cured"
    """Something on its way deals with infinities: it is meant."""
    MIXED = "mixed"
    """It is summed up or multiplied with others: one infinity spoils all."""
    OPEN = "open"
    """It leaves, or goes where nobody can follow."""


def fate_of(value: Value, flow: Flow, *, fixed: bool = False) -> tuple[Fate, Op | None]:
    """Follow a result to the first op that decides what its infinities do; a part may leave out a `fixed` one."""
    pending, seen, mixed = [value], {value}, None
    for current in pending:
        if len(seen) > _MOST:
            return Fate.OPEN, None
        outside = [made for made in _outside(current, flow) if made not in seen]
        seen.update(outside)
        pending.extend(outside)
        for op in flow.readers.get(current, ()):
            kind = Fate.CURED if fixed and op.name in _PARTS else _reads(op, current)
            if kind is Fate.CURED:
                return Fate.CURED, op
            if kind is Fate.MIXED:
                mixed = mixed or op
            if op.name not in ("py.return", "py.unread", "py.drop"):
                # A product may still be masked later on.
                fresh = [made for made in op.results if made not in seen] if _passes(op) else []
                seen.update(fresh)
                pending.extend(fresh)
    return (Fate.MIXED, mixed) if mixed is not None else (Fate.OPEN, None)


def _outside(value: Value, flow: Flow) -> Iterator[Value]:
    """Return what a value is called where the functions that return it were called."""
    for region in flow.leaving.get(value, ()):
        holder = flow.places.holder.get(id(region))
        callers = flow.callers.get(id(region), ()) if holder is None else (holder,)
        for op in callers:
            if op.name in BODIES and len(op.results) == len(region.results):
                yield op.results[region.results.index(value)]


def _reads(op: Op, value: Value) -> Fate:
    name = short(op)
    if op.is_derived:
        return Fate.OPEN
    if op.name == "py.call_unknown" and (op.callee.rpartition(".")[2] in _CURES):
        return Fate.CURED
    if op.name in ("array.select", "key.draw", "array.order", "array.scatter", "array.at") or name in _CURES:
        return Fate.CURED
    if op.name in ("array.reduce", "array.dot") and name in _MIXES:
        return Fate.MIXED if op.arguments.get("where") is None else Fate.CURED
    if op.name == "array.map" and name in ("log", "sqrt"):
        return Fate.MIXED
    if op.name == "array.map" and name in _SCALES:
        others = [one for one in op.arguments.values() if one is not value]
        return Fate.MIXED if any(isinstance(one, Value) for one in others) else Fate.OPEN
    return Fate.OPEN


def _passes(op: Op) -> bool:
    if op.name in _KEEPS:
        return True
    name = short(op)
    return op.name == "array.map" and (name in _SAME or name in _SCALES)
