"""Flags that stop what is added up over the steps to come: each has to be that of the step that it stops."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import chain

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.moments import Moment
from jaxaudit.analyses.lineage.returns import Flag, Return, returns
from jaxaudit.analyses.queries import readers
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import REMARKS
from jaxaudit.rules.base import Obligation, Step, named, proved


def recorded_flags(program: Program, facts: Facts) -> Iterator[Obligation]:
    """List every flag of a step that stops what is added up from the last step to the first."""
    for one in returns(program, facts.flow):
        stops = [flag for part in (one.kept, *one.added) for flag in one.flags(part) if flag.ends]
        rewards = {(reward.shift, reward.loop, reward.counted): reward for reward in one.rewards if reward.loop}
        if len(rewards) == 1:
            yield from _against(one, stops, next(iter(rewards.values())), facts.flow)


def _against(one: Return, stops: list[Flag], reward: Moment, flow: Flow) -> Iterator[Obligation]:
    """Judge whether flags were made by the step that made what is added."""
    told = set[object]()
    for flag in stops:
        late = flag.moment.shift - reward.shift
        place = (flag.moment.series, _line(flag, one, flow), late)
        if not flag.moment.is_beside(reward) or place in told:
            continue
        told.add(place)
        if late == 0:
            yield proved(one.op.span, f"{_name(flag)} is made by the step that it is recorded with")
        elif late == -1 and (end := _recorded_alone(flag, one, flow)) is not None:
            yield _recorded(one.op, end, flag)
        else:
            yield _misaligned(one, flag, late, flow)


def _name(flag: Flag) -> str:
    return named(flag.moment.value, "the flag")


def _line(flag: Flag, one: Return, flow: Flow) -> int:
    return _place(flag, one, flow).span.line


def _place(flag: Flag, one: Return, flow: Flow) -> Op:
    """Return where a flag is taken into the sum: where its opposite is written down, if it is."""
    made = flow.maker(flag.written)
    loop = Loop(one.op)
    inside = made is not None and flow.places.within(flow.places.region_of[made], loop.body)
    return made if made is not None and inside and made.name == "array.map" else one.update


def _recorded_alone(flag: Flag, one: Return, flow: Flow) -> Op | None:
    """Return what records a flag of the step before, where nothing but this sum has a use for that."""
    assert flag.moment.loop is not None
    loop = Loop(flag.moment.loop)
    at = next(
        (carried for carried, end in zip(loop.carried, loop.body.results, strict=False) if end is flag.moment.value),
        None,
    )
    if at is None:
        return None
    arrays = [array for given, array in loop.stacked if given is at.param]
    appended = [op for op in flow.readers.get(at.param, ()) if op.name == "py.append"]
    after = loop.op.results[at.position : at.position + 1]
    if any(_is_used(array, one, flow) for array in (*arrays, *after)):
        return None
    ends = [*appended, *(op for op in loop.body.ops if op.name == "py.return"), loop.op]
    return ends[0]


def _is_used(array: Value, one: Return, flow: Flow) -> bool:
    """Whether anything but the loop that adds up reads an array, and does not merely hand it on."""
    body = Loop(one.op).body
    for op in readers(flow, array):
        entered = op is one.op or op.regions or op.name in REMARKS or op.name in ("py.return", "array.convert")
        if not entered and not flow.places.within(flow.places.region_of[op], body) and op.name != "py.container":
            return True
    return False


def _recorded(scan: Op, end: Op, flag: Flag) -> Obligation:
    name = _name(flag)
    return Obligation(
        end.span,
        message=f"{name} of the step before is recorded with this step, and stops what comes after this one",
        current=f"the turn makes a newer {name}, and records the one it was given beside what this step gave",
        expected="the flag that is recorded with a step is the one that this step made",
        steps=(
            Step(flag.moment.value.span, "the flag of this step is made here"),
            Step(scan.span, f"this adds up from the last step to the first, and {name} stops it"),
        ),
        suggestion=f"record the newer {name}",
    )


def _misaligned(one: Return, flag: Flag, late: int, flow: Flow) -> Obligation:
    name, which = _name(flag), _steps(late)
    assert flag.moment.loop is not None
    carried = [old for old, new in Loop(flag.moment.loop).successors if new is flag.moment.value]
    end = recorder(flag.moment, {flag.moment.value, *carried})
    return Obligation(
        _place(flag, one, flow).span,
        message=f"{name} of {which} stops what is added up here, and not that of the step itself",
        current=f"what a step adds is cut off from the steps after it by {name} of {which}",
        expected=f"{name} that the step made cuts them off: it tells whether the episode ended with this step",
        steps=(
            Step(flag.moment.value.span, f"{name} is made here, by each step"),
            *((Step(end.span, "this records one with each step"),) if end is not None else ()),
            Step(flag.moment.loop.span, "the steps are recorded here"),
            Step(one.update.span, "what was added up so far is added here"),
        ),
        suggestion="take the flag that belongs to the end of the step" + _hint(late),
    )


def recorder(recorded: Moment, values: Set[Value]) -> Op | None:
    """Return what records some values with each step: a record that holds one of them, or the end of the turn."""
    loop = None if recorded.loop is None else Loop.of(recorded.loop)
    if loop is None:
        return None
    stacked = values & {given for given, _ in loop.stacked}
    records = (op for op in loop.body.walk() if op.name == "py.record")
    notes = (op for op in records if not stacked.isdisjoint((op.replaced or {}).values()))
    ends = (op for op in loop.body.ops if op.name == "py.return")
    return next(chain(notes, ends), None)


def _steps(late: int) -> str:
    return "the step before" if late == -1 else "the step after" if late == 1 else f"{abs(late)} steps away"


def _hint(late: int) -> str:
    return ": that of the next entry, which a carry can hand on" if late == -1 else ""
