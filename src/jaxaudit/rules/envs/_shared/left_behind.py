"""Parts of a loop's state that go on where a fresh one is taken for the others, though the fresh one has them too."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.endings import choices_of, sides
from jaxaudit.analyses.lineage.moments import same_step
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.queries import ahead, behind, through_ops, walk
from jaxaudit.analyses.versions import is_cell
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import BODIES, CONTRACTIONS, DERIVATIVES, LOOPS, MAPPED, MOVING
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Obligation, Severity, Step, named, proved
from jaxaudit.rules.flow._shared.phrases import called
from jaxaudit.spans import Span

_Line = tuple[Span, str, int]
"""Where a value is made, and as which result."""

_CALLS = (BODIES | MAPPED | {"cond"}) - {"tree.map"}


@record
class _Part:
    """A part of a loop's state."""

    param: Value
    following: Value
    start: _Line | None
    """The line that makes it before the first turn."""


@record
class _Renewed:
    """A part that a fresh one is taken for, by a choice."""

    part: _Part
    choice: Op
    flag: Value


def left_behind(program: Program, facts: Facts) -> Iterator[Obligation]:
    """List every part of a state that a function makes at the start of a loop and again in its turns."""
    flow = facts.flow
    for op in program.named(*sorted(LOOPS)):
        loop = Loop.of(op)
        if loop is None or len(loop.carried) < 2:
            continue
        starts = {one.param: _line(one.start, flow) for one in loop.carried}
        parts = [_Part(param, after, starts.get(param)) for param, after in loop.successors]
        lines = {one.start for one in parts} - {None}
        for call in loop.body.walk() if lines else ():
            if call.name in _CALLS and _innermost(call, flow) is op:
                fresh = {line: one for one in _given(call) if (line := _line(one, flow)) in lines}
                renewed = [
                    one for part in parts if part.start in fresh for one in _taken(part, fresh[part.start], flow)
                ]
                if renewed:
                    yield from _compared(call, fresh, parts, renewed, flow)
                    yield from _remembered(parts, fresh, renewed, flow)


def _innermost(op: Op, flow: Flow) -> Op | None:
    """Return the loop whose turns an op belongs to."""
    around = (holder for _, holder in flow.places.up(flow.places.region_of[op]))
    return next((one for one in around if one is not None and one.name in LOOPS), None)


def _given(call: Op) -> Sequence[Value]:
    """Return what a call gives; the values of a dict are those of its body, and a choice runs a function in each."""
    if call.name == "cond":
        return [one for region in call.regions for one in region.results]
    ends = [op for op in call.regions[0].ops if op.name == "py.return"] if call.in_place and call.regions else []
    return ends[-1].operands if ends else call.results


def _line(value: Value, flow: Flow) -> _Line | None:
    found = origin(flow, value, {}, each_element=True)
    made = found.op
    return (
        None if made is None or made.name in LOOPS else (made.span, made.name, flow.position(made.results, found.value))
    )


def _compared(
    call: Op, fresh: Mapping[_Line | None, Value], parts: Sequence[_Part], renewed: Sequence[_Renewed], flow: Flow
) -> Iterator[Obligation]:
    """Compare what becomes of the parts of a fresh state: those that are not taken belong to those that are."""
    own = [part for part in parts if part.start in fresh]
    left = [part for part in own if not any(one.part is part for one in renewed)]
    for part in left:
        moves = _moved_by(part, renewed, flow)
        if moves is not None and not _is_read(fresh[part.start], call, flow):
            # Of two parts one may be drawn anew alone, as the momentum of a walk.
            surely = len({one.part for one in renewed}) > 1
            made = origin(flow, part.following, {}, each_element=True).value
            yield _finding(call, part, moves, made, Severity.ERROR if surely else Severity.WARNING)
    if len(own) > 1 and not left:
        yield proved(renewed[0].choice.span, f"all that `{called(call)}` makes is taken by one choice")


def _moved_by(part: _Part, renewed: Sequence[_Renewed], flow: Flow) -> _Renewed | None:
    """Return what starts anew and is computed from a part that moves from turn to turn, and knows of no end."""
    return next((one for one in _ignored(part, renewed, flow) if _is_of(part, (one.part.following,), flow)), None)


def _ignored(part: _Part, renewed: Sequence[_Renewed], flow: Flow) -> Sequence[_Renewed]:
    """Return what starts anew by flags that a part which is made of itself knows nothing of."""
    met = set(same_step(flow, (part.following,)))
    knows = any(one.flag in met for one in renewed)
    return () if knows or part.param is part.following or part.param not in met else renewed


def _is_of(part: _Part, values: Sequence[Value], flow: Flow) -> bool:
    return part.param in same_step(flow, values)


def _acts_on(part: _Part, one: _Renewed, flow: Flow) -> bool:
    """Whether what steps a state is given something that was decided by a part."""
    made = flow.maker(one.part.following)
    made = flow.maker(made.operands[0]) if made is not None and made.name == "py.unpack" else made
    return made is not None and _is_of(part, made.operands, flow)


def _remembered(
    parts: Sequence[_Part], fresh: Collection[_Line | None], renewed: Sequence[_Renewed], flow: Flow
) -> Iterator[Obligation]:
    """Find the memory of what acts on a state: it is filled from the state, and nothing clears it."""
    again = [one.part for one in renewed]
    # What is computed of the next state is no memory of it.
    later = {value for one in renewed for side in sides(one.choice, flow) for value in side}
    told = {part.param for part in parts if part not in again and _tells(part.following, renewed, later, flow)}
    chosen = {value for one in renewed for value in one.choice.results}
    seen = [one for one in parts if not chosen.isdisjoint(same_step(flow, (one.following,)))]
    for part in (one for one in parts if one.start not in fresh):
        met = set(same_step(flow, (part.following,)))
        sees = any(one.param in met for one in seen if one is not part) and met.isdisjoint(told - {part.param})
        ignored = _ignored(part, renewed, flow) if sees else ()
        moves = next((one for one in ignored if _acts_on(part, one, flow)), None)
        step = _step_of_memory(part, met, flow) if moves is not None and met.isdisjoint(later) else None
        if moves is not None and step is not None and next(choices_of(flow, part.following), None) is None:
            yield _not_cleared(part, moves, step)


def _is_mapped(op: Op, flow: Flow) -> bool:
    """Whether something unknown is called for each of many environments, with a memory of its own."""
    around = (holder for _, holder in flow.places.up(flow.places.region_of[op]))
    return op.name == "py.call_unknown" and any(one is not None and one.name == "vmap" for one in around)


def _tells(value: Value, renewed: Sequence[_Renewed], later: set[Value], flow: Flow) -> bool:
    """Whether a value tells how a step ended, as a flag or a reward does; the state that was chosen does not."""
    chosen = {value for one in renewed for value in one.choice.results}
    met = set(walk((value,), lambda one: () if one in chosen else _one_back(one, flow)))
    return not met.isdisjoint(later.union(one.flag for one in renewed))


def _one_back(value: Value, flow: Flow) -> Sequence[Value]:
    """Return what a value was computed from, in its own turn."""
    return behind(flow, value) if flow.maker(value) is not None or flow.loop_of(value) is None else ()


def _step_of_memory(part: _Part, met: set[Value], flow: Flow) -> Op | None:
    """Return the step of a recurrent network that makes a part of a state: it weighs the old one.

    What learns is added to, or goes through a derivative.
    """
    makers = [made for made in map(flow.maker, met) if made is not None]
    # A gate that lets something of the old one go leaves `(1 - z) * h`: the old one and a share of it.
    kept = [one for one in Sums.of(flow, {}).products(part.following) if part.param in one.factors]
    if any(made.name in DERIVATIVES for made in makers) or (len(kept) == 1 and kept[0].factors == (part.param,)):
        return None
    names = set(walk((part.param,), lambda one: ahead(flow, one, through_ops(*MOVING, "array.join"))))
    readers = [op for one in names for op in flow.readers.get(one, ())]
    steps = (op for op in readers if is_cell(op) or op.name in CONTRACTIONS or _is_mapped(op, flow))
    return next((op for op in steps if not met.isdisjoint(op.results)), None)


def _taken(part: _Part, fresh: Value, flow: Flow) -> Iterator[_Renewed]:
    """Return the choice between a part of a fresh state and what a turn makes of the old one."""
    value = origin(flow, fresh, {}, in_turn=True, each_element=True).value
    for choice in choices_of(flow, part.following):
        flag = choice.operands[0] if choice.name == "cond" else choice.value("condition", "pred")
        both = [
            {origin(flow, one, {}, in_turn=True, each_element=True).value for one in side}
            for side in sides(choice, flow)
        ]
        if flag is not None and sum(value in side for side in both) == 1:
            yield _Renewed(part, choice, flag)


def _is_read(value: Value, call: Op, flow: Flow) -> bool:
    return flow.is_read_outside(value, call) if call.in_place else flow.is_read(value)


def _finding(call: Op, part: _Part, moves: _Renewed, made: Value, severity: Severity) -> Obligation:
    name, flag, other = (
        named(part.param, "a part"),
        named(moves.flag, "the flag"),
        named(moves.part.param, "another part"),
    )
    function = f"`{called(call)}`"
    return Obligation(
        call.span,
        severity=severity,
        message=f"{name} of {function} is never read: where {flag} is set {other} starts anew, and {name} goes on",
        current=f"behind {flag}, {other} is that of a new episode and {name} that of the one before",
        expected=f"{name} is chosen by {flag}, too",
        steps=(
            Step(moves.choice.span, f"{other} is chosen here"),
            Step(part.following.span, f"this {name} goes into the next turn, whatever {flag} is"),
        ),
        suggestion=f"choose between the {name} of {function} and the old one by {flag}",
        cause=(made,),
    )


def _not_cleared(part: _Part, moves: _Renewed, step: Op) -> Obligation:
    name, flag, other = (
        named(part.param, "the memory"),
        named(moves.flag, "the flag"),
        named(moves.part.param, "the state"),
    )
    return Obligation(
        part.following.span,
        # What an unknown function makes may be meant to outlast an episode.
        severity=Severity.WARNING if step.name == "py.call_unknown" else Severity.ERROR,
        message=f"{name} is never cleared, though {other} starts anew where {flag} is set",
        current=f"the first turns of a new episode are decided on by {name} of the one before",
        expected=f"{name} starts anew where {flag} is set, too",
        steps=(
            Step(moves.choice.span, f"{other} starts anew here"),
            Step(moves.part.following.span, f"and goes into the next turn, as {name} does"),
            Step(step.span, f"here a step of {name} is made from the one before"),
        ),
        suggestion=f"choose between {name} and its start by {flag} before the next turn",
    )
