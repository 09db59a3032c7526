"""Arrays that are computed for one reader alone, which never looks at them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.index import is_pure
from jaxaudit.analyses.queries import reached
from jaxaudit.analyses.shapes.regions import carry_count
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.ops import BODIES

_FEW = 12
"""How many values may lie between a parameter and the variable that nobody reads."""
_COMPUTES = frozenset("array.map array.select array.scan array.move array.normalise".split())


@dataclass(frozen=True, slots=True)
class Wasted:
    """An array, the op that computed it, and the op whose body it goes into unread."""

    value: Value
    made: Op
    reader: Op
    inside: Value


def unread_by_scans(program: Program, flow: Flow) -> Iterator[Wasted]:
    """Return every array that is computed to be scanned, and that the body of the scan never reads."""
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
    """Return what is bound to a name with an underscore."""
    notes = (op for op in program.named("py.unread") if op.label.startswith("_"))
    found = (op.values for op in notes)
    return frozenset(value for values in found if isinstance(values, tuple) for value in values)


def _made_for(flow: Flow, value: Value, reader: Op) -> Op | None:
    """Return the op that computes a value, where nothing but one other op reads it."""
    made = flow.maker(value)
    alone = flow.readers.get(value) == [reader] and value not in flow.leaving
    if made is None or not alone or made.name not in _COMPUTES:
        return None
    # A counter alone may be there for the number of steps.
    sources = (flow.maker(one) for one in made.operands)
    return made if any(one is None or one.name != "array.create" for one in sources) else None


def _is_dead(flow: Flow, param: Value) -> bool:
    return not flow.readers.get(param) and param not in flow.leaving


@dataclass(frozen=True, slots=True)
class Unread:
    """A variable that nothing reads, and the parameters of its function that have no other use."""

    note: Op
    params: tuple[Value, ...]


def unread_variables(program: Program, flow: Flow) -> Iterator[Unread]:
    """Return every unread variable that alone keeps parameters of its function from being idle."""
    for note in program.named("py.unread"):
        values = note.values
        if note.kind != "variable" or note.label.startswith("_") or not isinstance(values, tuple):
            continue
        region = flow.places.region_of[note]
        made = flow.maker(values[0]) if len(values) == 1 else None
        if made is None or made.name not in _COMPUTES or not _is_given(region, flow):
            continue
        idle = tuple(param for param in region.params if param.name and _leads_only_to(values[0], param, region, flow))
        if idle and len(idle) < len(region.params) and _is_revision(values[0], idle, region, flow):
            yield Unread(note, idle)


def _is_revision(end: Value, idle: tuple[Value, ...], region: Region, flow: Flow) -> bool:
    """Whether a variable joins what idle parameters say to something else of the function: `action + noise`.

    What is made of them alone may as well be left from an earlier version: `t = i * dt`.
    """
    ours = reached(flow, idle)
    makers = [op for value in ours if (op := flow.maker(value)) is not None]
    joined = {value for op in makers for value in op.operands} - ours - set(idle)
    made_here = (flow.maker(value) for value in joined)
    return not joined.isdisjoint(region.params) or any(
        op is not None and op.operands and flow.places.region_of[op] is region for op in made_here
    )


def _is_given(region: Region, flow: Flow) -> bool:
    """Whether a region is the body of a function that is called with data."""
    holder = flow.places.holder.get(id(region))
    calls = flow.callers.get(id(region), ()) if holder is None else (holder,)
    return bool(calls) and all(call.name in BODIES for call in calls)


def _leads_only_to(end: Value, param: Value, region: Region, flow: Flow) -> bool:
    """Whether everything that is computed from a parameter ends in one variable that nobody reads."""
    made = reached(flow, (param,))
    if end not in made or len(made) > _FEW or any(value in flow.leaving for value in made):
        return False
    readers = {op for value in made for op in flow.readers.get(value, ())}
    return all(is_pure(op) and not op.regions for op in readers)
