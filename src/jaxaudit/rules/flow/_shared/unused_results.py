"""Arrays that are computed for one reader alone, which never looks at them."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.index import is_pure
from jaxaudit.analyses.queries import depends, holders, operands_of, reached, walk
from jaxaudit.analyses.succession import goes_on
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import BODIES
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import lookup
from jaxaudit.libraries.results import Like
from jaxaudit.rules.flow._shared.phrases import noted
from jaxaudit.rules.intent.names import is_unwanted
from jaxaudit.spans import Span

_COMPUTES = frozenset("array.map array.select array.scan array.move array.normalise".split())
"""Ops that give an array of the shape of what they are given, so that nobody computes them for a shape alone."""


@record
class Wasted:
    """An array, the op that computed it, and the op whose body it goes into unread."""

    value: Value
    made: Op
    reader: Op


def unread_by_scans(program: Program, flow: Flow) -> Iterator[Wasted]:
    """Return every array that is computed to be scanned, and that the body of the scan never reads."""
    notes = [op for op in program.named("py.unread") if is_unwanted(op.label)]
    unwanted = {value for op in notes for value in op.values or ()}
    for op in program.named("scan"):
        for param, value in Loop(op).elements:
            made = _made_for(flow, value, op)
            if made is not None and not (flow.readers.get(param) or param in flow.leaving) and param not in unwanted:
                yield Wasted(value, made, op)


def _made_for(flow: Flow, value: Value, reader: Op) -> Op | None:
    """Return the op that computes a value, where nothing but one other op reads it."""
    made = flow.maker(value)
    alone = flow.readers.get(value) == [reader] and value not in flow.leaving
    if made is None or not alone or made.name not in _COMPUTES:
        return None
    # A counter alone may be there for the number of steps.
    sources = (flow.maker(one) for one in made.operands)
    return made if any(one is None or one.name != "array.create" for one in sources) else None


@record
class Unread:
    """A variable that nothing reads, and what has no other use than to compute it."""

    note: Op
    inputs: tuple[str, ...]
    """Parameters of the functions around it, and attributes that are read here alone."""
    instead: Span | None
    """Where what it was computed from, and could stand for, is read in its place."""


def unread_variables(program: Program, flow: Flow) -> Iterator[Unread]:
    """Return every unread variable that alone keeps parameters of functions, or settings, from being idle."""
    for note in program.named("py.unread"):
        value = noted(note)
        made = None if value is None or note.kind != "variable" or is_unwanted(note.label) else flow.maker(value)
        if value is None or made is None or not _keeps_elements(made):
            continue
        instead = _read_instead(value, flow.through(made, note), note, flow)
        home = flow.places.region_of[note]
        idle = tuple(one for region in _functions(home, flow) for one in _idle(value, region, home, instead, flow))
        settings = tuple(note.settings or ()) if instead is not None else ()
        if idle or settings:
            yield Unread(note, (*(one.name for one in idle), *settings), instead)


def _functions(home: Region, flow: Flow) -> Iterator[Region]:
    """Return the bodies of the functions around a place, innermost first."""
    return (region for region, _ in flow.places.up(home) if region.kind in ("function", "root"))


def _idle(value: Value, region: Region, home: Region, instead: Span | None, flow: Flow) -> tuple[Value, ...]:
    """Return the parameters of a function that lead to one unread value alone."""
    if not _is_called(region, flow) and instead is None:
        return ()
    idle = tuple(param for param in region.params if param.name and _leads_only_to(value, param, home, flow))
    return idle if idle and len(idle) < len(region.params) and _joins_others(idle, region, flow) else ()


def _read_instead(value: Value, made: Op, note: Op, flow: Flow) -> Span | None:
    """Return where something that an unread value was computed from, element by element, is read after it."""
    before = list(walk((value,), lambda one: operands_of(flow, one, _keeps_elements)))[1:]
    computed = [one for one in before if (op := flow.maker(one)) is None or op.name != "py.const"]
    ways = (way.at for one in computed for way in goes_on(flow, one, made))
    return next((at for at in ways if at != note.span), None)


def _keeps_elements(op: Op) -> bool:
    """Whether an op computes something of the shape of what it is given, as a layer such as dropout does."""
    row = lookup(op.qualified)
    return op.name in _COMPUTES or (row is not None and "layer" in row.roles and isinstance(row.result, Like))


def _is_called(region: Region, flow: Flow) -> bool:
    """Whether a region is the body of a function that is called with data."""
    calls = holders(flow, region)
    return bool(calls) and all(call.name in BODIES for call in calls)


def _leads_only_to(end: Value, param: Value, home: Region, flow: Flow) -> bool:
    """Whether everything that is computed from a parameter ends in one variable that nobody reads, where that is."""
    derived = reached(flow, (param,)) if depends(flow, end, (param,)) else set[Value]()
    around = {id(region) for region, _ in flow.places.up(home)}
    # What a function that is called on the way gives back is read in its caller, if anywhere.
    returned = (op for value in derived for op in flow.handed_back.get(value, ()))
    given_back = any(id(flow.places.region_of[op]) in around for op in returned)
    if end not in derived or given_back or any(value in flow.leaving for value in derived):
        return False
    readers = {op for value in derived for op in flow.readers.get(value, ())}
    # Nobody in sight calls a root: what it returns is used all the same.
    if any(op.name == "py.return" and flow.places.region_of[op].kind == "root" for op in readers):
        return False
    return all((is_pure(op) and (not op.regions or op.in_place)) or end in op.results for op in readers)


def _joins_others(idle: tuple[Value, ...], region: Region, flow: Flow) -> bool:
    """Whether what idle parameters say is joined to something else of the function: `action + noise`.

    What is made of them alone may as well be left from an earlier version: `t = i * dt`.
    """
    derived = reached(flow, idle)
    makers = [op for value in derived if (op := flow.maker(value)) is not None]
    joined = {value for op in makers for value in op.operands} - derived
    made_here = (flow.maker(value) for value in joined)
    return not joined.isdisjoint(region.params) or any(
        op is not None and op.operands and flow.places.within(flow.places.region_of[op], region) for op in made_here
    )
