"""Arrays that a program writes some rows of and reads others from: a memory of steps, whatever it is called.

What is read at some places of several such arrays belongs together, where each was written at the same places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.moments import same_step
from jaxaudit.analyses.queries import behind, nothing, walk
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.record import record

_READS = ("py.item", "array.gather")


@record
class Slot:
    """Rows that are read from an array, and what was written into rows of it."""

    at: Argument
    """Where it is read."""
    to: Argument
    """Where it was written."""
    op: Op
    """What wrote it."""
    value: Value

    def is_beside(self, other: Slot) -> bool:
        """Whether two rows were written at one place and are read at one place."""
        return self.at is not None and self.at == other.at and self.to is not None and self.to == other.to


def read_from(flow: Flow, value: Value) -> Iterator[Slot]:
    """Return what was written into the array that a value is some rows of."""
    made = flow.maker(value)
    base = made.base if made is not None and made.name in _READS else None
    if made is None or base is None:
        return
    makers = map(flow.maker, walk((base,), lambda one: _versions(flow, one)))
    for op in dict.fromkeys(op for op in makers if op is not None and op.name == "array.scatter"):
        if op.function == "set" and (written := op.value("value")) is not None:
            yield Slot(made.argument("index", "indices"), op.argument("index"), op, written)


def met_in(flow: Flow, value: Value) -> Iterator[Slot]:
    """Return all that was written into the arrays of whose rows a value was computed in its own step."""
    for one in same_step(flow, (value,)):
        yield from read_from(flow, one)


def _versions(flow: Flow, value: Value) -> Sequence[Value]:
    """Return what an array was before it was written to, and what it is called elsewhere."""
    made = flow.maker(value)
    if made is not None and made.name == "array.scatter":
        return (base,) if (base := made.value("base")) is not None else ()
    return behind(flow, value, nothing)
