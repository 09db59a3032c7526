"""What is left of an episode that is over: windows of its last steps, and sums that were told of and go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.endings import Reading, Renewal, is_flag, readings, renewals
from jaxaudit.analyses.lineage.moments import moment, same_step
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.lineage.returns import Flag, flags
from jaxaudit.analyses.queries import behind, depends, through_ops, walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import ELEMENTWISE, KEEPING, MOVING
from jaxaudit.rules.base import Obligation, Severity, Step, named, proved, unknown

_COMPUTED = through_ops(*ELEMENTWISE, *KEEPING)


def left_over(facts: Facts) -> Iterator[Obligation]:
    """List every window and every sum that belongs to one episode."""
    parts = list(renewals(facts))
    resets = [one for one in readings(facts) if one.what == "reset" and one.ends]
    for one in parts:
        yield from _window(one, resets, parts, facts.flow)
        yield from _told(one, parts, facts)


def _window(one: Renewal, resets: list[Reading], parts: list[Renewal], flow: Flow) -> Iterator[Obligation]:
    """Judge a window whose newest entry is that of a state which was reset, and whose others are not."""
    made, newer = _shifted(one, flow)
    met = set(same_step(flow, newer))
    reset = next((two for two in resets if not met.isdisjoint(two.op.results)), None)
    if made is None or reset is None:
        return
    window, flag = named(one.old, "the window"), named(reset.flag.moment.value, "the flag")
    beside = [value for two in parts if two is not one for value in _shifted(two, flow)[1]]
    if reset.flag.moment.value in walk(beside, lambda value: behind(flow, value, through_ops(*MOVING))):
        yield unknown(
            made.span, f"{flag} is kept beside {window}, and what reads both may know where an episode begins"
        )
        return
    if _is_read_with(one.old, reset.op.results, flow):
        yield unknown(made.span, f"what reads {window} is told where {flag} is set, and may leave out what is older")
        return
    yield Obligation(
        made.span,
        message=f"{window} keeps entries of the episode before where {flag} is set: only its newest one is reset",
        current=f"behind the end of an episode {window} holds entries of two episodes",
        expected=f"all of {window} is filled anew where {flag} is set",
        steps=(Step(reset.op.span, f"the state is reset here where {flag} is set"),),
        suggestion="choose between the window and one of the first observation alone by the flag",
    )


def _is_read_with(window: Value, reset: tuple[Value, ...], flow: Flow) -> bool:
    """Whether something is given a window together with what is reset, such as a mask of its entries."""
    readers = flow.readers.get(window, ())
    return any(depends(flow, one, reset) for op in readers for one in op.operands if one is not window)


def _shifted(one: Renewal, flow: Flow) -> tuple[Op | None, list[Value]]:
    """Return what moves a window that a loop carries on by one step, and what it puts in: `[*old[1:], new]`, `roll`."""
    entry = flow.entered(one.old)
    if entry is None or Loop.of(entry.op) is None:
        return None, []
    for made in filter(None, map(flow.maker, _names((one.new,), flow))):
        older = [value for value in made.operands if _is_old(value, one.old, flow)]
        newer = [value for value in made.operands if value not in older]
        if made.name in ("array.join", "array.scatter") and older and newer:
            return made, newer
    return None, []


def _names(values: Iterable[Value], flow: Flow) -> Iterator[Value]:
    """Return what values are called inside of the calls and maps that give them, and before they were reshaped."""
    return walk(values, lambda one: behind(flow, one, through_ops(*KEEPING)))


def _is_old(value: Value, window: Value, flow: Flow) -> bool:
    """Whether a value is a stretch of a window, or the window with its entries moved."""
    cut = flow.maker(value)
    moved = cut is not None and (cut.name == "py.item" or (cut.name == "array.move" and cut.function == "roll"))
    return cut is not None and moved and window in _names(cut.operands[:1], flow)


def _told(one: Renewal, parts: list[Renewal], facts: Facts) -> Iterator[Obligation]:
    """Judge sums that another part of the state takes over where a flag is set: there they are complete."""
    flow, sums = facts.flow, Sums.of(facts.flow, {})
    found = sums.products(one.new)
    goes_on = [flag for part in found if one.old in part.factors for flag in flags(flow, part, {}) if flag.ends]
    for flag in (flag for flag in goes_on if is_flag(flag.moment.value, facts) and _may_end(flag, one, parts, flow)):
        taken = {
            factor
            for part in found
            if any(other.moment.series == flag.moment.series and not other.ends for other in flags(flow, part, {}))
            for factor in part.factors
        }
        for two in parts:
            if two.old in taken and two.old in one.grown and two.old is not one.old:
                yield from _cleared(two, one, flag, facts)


def _may_end(flag: Flag, one: Renewal, parts: list[Renewal], flow: Flow) -> bool:
    """Whether a flag may say that something is over, again and again."""
    return not _stays(flag, parts, flow) and not _tells_turns(flag.moment.value, one, flow)


def _tells_turns(flag: Value, one: Renewal, flow: Flow) -> bool:
    """Whether a flag is made of the number of the turn alone, as `i == last`: what happens in a turn is not asked."""
    entry = flow.entered(one.old)
    loop = None if entry is None else Loop.of(entry.op)
    if loop is None:
        return False
    sums = Sums.of(flow, {})
    counts = {new: old for old, new in loop.successors if _is_count(old, new, sums)}
    numbers = {loop.counter, *counts.values()}
    told = list(walk((flag,), lambda value: () if value in numbers else behind(flow, value, _COMPUTED)))
    made_here = [value for value in told if flow.places.within(flow.places.region_of_value(value), loop.body)]
    return not numbers.isdisjoint(told) and all(
        value in numbers or behind(flow, value, _COMPUTED) for value in made_here
    )


def _is_count(old: Value, new: Value, sums: Sums) -> bool:
    """Whether a turn only adds a number to a part of the state."""
    found = sums.products(new)
    return len(found) > 1 and all(not part.factors or part.factors == (old,) for part in found)


def _stays(flag: Flag, parts: list[Renewal], flow: Flow) -> bool:
    """Whether a flag is made of what it was a turn before, as `alive & ok`: it ends something once."""
    return any(flag.moment.value is one.new and depends(flow, one.new, (one.old,)) for one in parts)


def _cleared(two: Renewal, one: Renewal, flag: Flag, facts: Facts) -> Iterator[Obligation]:
    flow = facts.flow
    made, new = flow.maker(two.new), moment(flow, two.new).value
    stops = [other for part in Sums.of(flow, {}).products(new) for other in flags(flow, part, {})]
    if made is None or any(other.moment.series == flag.moment.series for other in stops):
        yield proved(two.new.span, f"{named(two.old, 'the sum')} starts anew where it is taken over")
    elif made.name == "array.map" and not depends(flow, two.new, (flag.moment.value,)):
        yield _finding(made, two, one, flag)


def _finding(made: Op, two: Renewal, one: Renewal, flag: Flag) -> Obligation:
    summed, told, over = named(two.old, "the sum"), named(one.old, "another part"), named(flag.moment.value, "the flag")
    return Obligation(
        made.span,
        severity=Severity.WARNING,
        message=f"{summed} is taken over into {told} where {over} is set, and goes on as if it were not",
        current=f"behind the end of an episode {summed} still holds what belongs to it",
        expected=f"{summed} starts anew where {over} is set",
        steps=(Step(one.new.span, f"{told} takes it over here"),),
        suggestion=f"multiply it by `1 - {flag.moment.value.name or 'flag'}`, or choose its start there",
    )
