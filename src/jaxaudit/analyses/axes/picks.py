"""Scores and probabilities, and the axis along which one of each is picked: it has to be the one they compete along."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.normalised import Normalised, shares
from jaxaudit.analyses.extents import extents
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.ir import Op, Value
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts


@record
class Pick:
    """One entry of every distribution is taken: those of the label, of the action, of the next token."""

    normalise: Op
    axis: int
    """The axis along which the entries add up to one."""
    op: Op
    along: int
    """The axis along which one of them is taken, counted as the other one is."""


def picks(facts: Facts, one: Normalised) -> Iterator[Pick]:
    """Return where one entry of each distribution that an op makes is taken, with both axes."""
    for share in shares(facts, one):
        for reader in facts.flow.readers.get(share.slot.value, ()):
            along = _along(reader, share.slot.value, facts)
            rank = facts.get(Shapes).of(share.slot.value).rank
            place = along if along is None or rank is None else place_of(along, rank)
            axis = share.slot.place
            # Of unknown rank, 1 and -1 may be the same axis.
            if place is not None and axis is not None and (axis < 0) is (place < 0):
                yield Pick(one.op, axis, reader, place)


def _along(op: Op, value: Value, facts: Facts) -> int | None:
    """Return the axis along which an op takes one entry each; None where it does not, or along several."""
    if op.function == "take_along_axis" and op.argument("arr", "a") is value:
        axis = op.arguments.get("axis")
        return axis if isinstance(axis, int) else None
    if op.name == "key.draw" and op.function == "categorical" and op.argument("logits") is value:
        axis = op.arguments.get("axis", -1)
        return axis if isinstance(axis, int) else None
    if op.name == "py.item" and op.arguments.get("base") is value:
        return _beside_counters(op, facts)
    if op.name == "array.map" and op.function == "multiply":
        return -1 if any(_is_one_hot(one, facts) for one in op.operands if one is not value) else None
    return None


def _beside_counters(op: Op, facts: Facts) -> int | None:
    """Return the axis of the one index array in `x[jnp.arange(n), labels]` that does not count its axis."""
    parts = index_parts(op.arguments.get("index"))
    if len(parts) < 2 or not all(isinstance(part, Value) for part in parts):
        return None
    found = [extents(facts)(part) for part in parts if isinstance(part, Value)]
    chosen = [at for at, one in enumerate(found) if one is None or one.source.name != "array.create"]
    return chosen[0] if len(chosen) == 1 else None


def _is_one_hot(value: Value, facts: Facts) -> bool:
    maker = facts.flow.maker(value)
    return maker is not None and maker.function == "one_hot" and maker.arguments.get("axis") is None
