"""Conditions around an op that ask about the very values it reads: it may only run for those that suit it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Exit, Op, Value


def asks_about(flow: Flow, op: Op) -> bool:
    """Whether an `if` around an op, or one before it that may leave, depends on something that the op reads."""
    read = {*op.operands, *_gone_through(flow, op)}
    return any(_meets(flow, branch, read) for branch in deciding(flow, op))


def _gone_through(flow: Flow, op: Op) -> Iterator[Value]:
    """Return the lists and arrays that loops take an op's operands from."""
    for value in op.operands:
        maker = flow.maker(value)
        if maker is not None and maker.name == "py.element":
            yield from maker.operands[:1]


def deciding(flow: Flow, op: Op) -> Iterator[Op]:
    """Return the branches that decide whether an op runs."""
    region = flow.places.region_of.get(op)
    inner = op
    for around, holder in () if region is None else flow.places.up(region):
        before = takewhile(lambda one, inner=inner: one is not inner, around.ops)
        yield from (one for one in before if one.name == "py.branch" and _may_leave(one))
        if holder is None:
            return
        if holder.name == "py.branch":
            yield holder
        inner = holder


def _may_leave(branch: Op) -> bool:
    return any(region.exit is not Exit.FALL for region in branch.regions)


def _meets(flow: Flow, branch: Op, read: set[Value]) -> bool:
    """Whether a condition is made of one of some values."""

    def made_of(value: Value) -> tuple[Value, ...]:
        maker = flow.maker(value)
        return () if maker is None else maker.operands

    return any(value in read for value in walk(branch.operands[:1], made_of))
