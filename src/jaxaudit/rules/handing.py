"""Where a turn of a loop hands on what it began with: in a changed copy of a record, or where it returns it."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Value
from jaxaudit.ir.interfaces import Loop, given_to
from jaxaudit.spans import Span


def handed_on(loop: Loop, param: Value, flow: Flow) -> Span:
    """Return where a turn hands a part of its state on as it was, however deep in the calls that it makes."""
    names = names_inside(param, flow)
    for op in loop.body.walk():
        for field, had in (op.restored or {}).items() if op.name == "py.replace" else ():
            if names.intersection(had):
                return (op.option_places or {}).get(field, op.span)
    ends = (op.span for op in loop.body.walk() if op.name == "py.return" and names.intersection(op.operands))
    return next(ends, loop.op.span)


def names_inside(param: Value, flow: Flow) -> set[Value]:
    """Return a part of the state of a loop as each function has it that a turn calls with it."""

    def inside(value: Value) -> Iterator[Value]:
        for op in flow.readers.get(value, ()):
            yield from (one for region in op.regions for one, given in given_to(op, region) if given is value)

    return set(walk((param,), inside))
