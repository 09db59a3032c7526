"""Arrays that are computed for one reader alone, which never looks at them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.shapes.regions import carry_count
from jaxaudit.ir import Op, Program, Value

_COMPUTES = frozenset("array.map array.select array.scan array.move array.normalise".split())


@dataclass(frozen=True, slots=True)
class Wasted:
    """An array, the op that computed it, and the op whose body it goes into unread."""

    value: Value
    made: Op
    reader: Op
    inside: Value


def unread_by_scans(program: Program, flow: Flow) -> Iterator[Wasted]:
    """Give every array that is computed to be scanned, and that the body of the scan never reads."""
    hidden = _said_to_be_unread(program)
    for op in program.named("scan"):
        region = op.regions[0]
        if len(region.params) != len(op.operands):
            continue
        for param, value in list(zip(region.params, op.operands, strict=True))[carry_count(op) :]:
            made = _made_for(flow, value, op)
            if made is not None and _is_dead(flow, param) and param not in hidden:
                yield Wasted(value, made, op, param)


def _said_to_be_unread(program: Program) -> frozenset[Value]:
    """Give what is bound to a name with an underscore."""
    notes = (op for op in program.named("py.unread") if op.text("name").startswith("_"))
    found = (op.attrs.get("values") for op in notes)
    return frozenset(value for values in found if isinstance(values, tuple) for value in values)


def _made_for(flow: Flow, value: Value, reader: Op) -> Op | None:
    """Give the op that computes a value, where nothing but one other op reads it."""
    made = flow.maker(value)
    alone = flow.readers.get(value) == [reader] and value not in flow.leaving
    if made is None or not alone or made.name not in _COMPUTES:
        return None
    # A counter alone may be there for the number of steps.
    sources = (flow.maker(one) for one in made.operands)
    return made if any(one is None or one.name != "array.create" for one in sources) else None


def _is_dead(flow: Flow, param: Value) -> bool:
    return not flow.readers.get(param) and param not in flow.leaving
