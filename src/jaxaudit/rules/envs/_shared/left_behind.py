"""Parts of a loop's state that go on where a fresh one is taken for the others, though the fresh one has them too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.endings import choices_of, sides
from jaxaudit.analyses.lineage.moments import same_step
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import BODIES, LOOPS, MAPPED
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Obligation, Severity, Step, named, proved
from jaxaudit.rules.flow._shared.phrases import called
from jaxaudit.spans import Span

_Line = tuple[Span, str, int]
"""Where a value is made, and as which result."""

_CALLS = (BODIES | MAPPED) - {"tree.map"}


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
        parts = [
            _Part(param, after, starts.get(param)) for param, after in loop.successors if starts.get(param) is not None
        ]
        lines = {one.start for one in parts}
        for call in loop.body.walk() if len(lines) > 1 else ():
            if call.name in _CALLS:
                fresh = {line: one for one in _given(call) if (line := _line(one, flow)) in lines}
                yield from _compared(call, fresh, parts, flow) if len(fresh) > 1 else ()


def _given(call: Op) -> Sequence[Value]:
    """Return what a call gives; the values of a dict are those of its body."""
    ends = [op for op in call.regions[0].ops if op.name == "py.return"] if call.in_place and call.regions else []
    return ends[-1].operands if ends else call.results


def _line(value: Value, flow: Flow) -> _Line | None:
    found = origin(flow, value, {}, each_element=True)
    made = found.op
    return (
        None if made is None or made.name in LOOPS else (made.span, made.name, flow.position(made.results, found.value))
    )


def _compared(call: Op, fresh: Mapping[_Line | None, Value], parts: list[_Part], flow: Flow) -> Iterator[Obligation]:
    """Compare what becomes of the parts of a fresh state: those that are not taken belong to those that are."""
    renewed = [one for part in parts if part.start in fresh for one in _taken(part, fresh[part.start], flow)]
    for part in parts if renewed else ():
        if part.start not in fresh or any(one.part is part for one in renewed):
            continue
        met = set(same_step(flow, (part.following,)))
        goes_on = part.param is not part.following and part.param in met
        knows = any(one.flag in met for one in renewed)
        moves = next((one for one in renewed if part.param in same_step(flow, (one.part.following,))), None)
        if goes_on and not knows and moves is not None and not _is_read(fresh[part.start], call, flow):
            # Of two parts one may be drawn anew alone, as the momentum of a walk.
            surely = len({one.part for one in renewed}) > 1
            yield _finding(call, part, moves, Severity.ERROR if surely else Severity.WARNING)
    if renewed and {one.part for one in renewed} == {part for part in parts if part.start in fresh}:
        yield proved(renewed[0].choice.span, f"all that `{called(call)}` makes is taken by one choice")


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


def _finding(call: Op, part: _Part, moves: _Renewed, severity: Severity) -> Obligation:
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
    )
