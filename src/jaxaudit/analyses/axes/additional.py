"""Where an array got an axis too many: the op that made something of a higher rank than was to meet the rest.

Elementwise ops give the rank of their largest operand, and borders hand arrays on: each with its axes, or, as maps and
scans do, one element of them at a time. Followed back through both, there is an op that made the axis by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import behind, last, nothing
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value
from jaxaudit.ir.ops import ELEMENTWISE, KEEPING
from jaxaudit.ir.record import record


@record
class _Wide:
    """A value that has more axes than it was to have."""

    value: Value
    rank: int
    """How many it was to have."""


def widened(facts: Facts, value: Value, rank: int) -> Op | None:
    """Return the op that made a value, or what it was computed of, have more axes than it was to have."""
    end = last(_Wide(value, rank), lambda one: next(_before(facts, one), None))
    return facts.flow.own_maker(end.value)


def _before(facts: Facts, one: _Wide) -> Iterator[_Wide]:
    """Return what a value was made of that has too many axes as well, here or on the other side of a border."""
    op, own = facts.flow.own_maker(one.value), facts.get(Shapes).of(one.value).rank or 0
    if op is not None and op.name == "tree.map":
        # Its body stands for all leaves: the rank of each is not known there, and no axis is put on or taken off.
        yield from (_Wide(value, one.rank) for value in behind(facts.flow, one.value, nothing))
    elif op is None or op.regions:
        # A map puts one axis on whatever leaves it, and takes one off whatever enters.
        for value in behind(facts.flow, one.value, nothing):
            yield from _wide(facts, value, one.rank + (facts.get(Shapes).of(value).rank or 0) - own)
    elif op.name in ELEMENTWISE:
        for value in op.operands:
            yield from _wide(facts, value, one.rank)
    elif op.name in KEEPING and len(op.operands) == 1:
        before = facts.get(Shapes).of(op.operands[0]).rank
        yield from _wide(facts, op.operands[0], one.rank + before - own) if before is not None and before >= own else ()


def _wide(facts: Facts, value: Value, rank: int) -> Iterator[_Wide]:
    own = facts.get(Shapes).of(value).rank
    if own is not None and own > rank:
        yield _Wide(value, rank)
