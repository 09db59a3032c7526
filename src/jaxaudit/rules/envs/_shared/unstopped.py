"""What goes on across the end of an episode: sums over steps to come, and memories that are filled again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.endings import Reading, readings, reasons
from jaxaudit.analyses.lineage.moments import Moment, moment, same_step
from jaxaudit.analyses.lineage.returns import Return, returns
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import ORDERINGS
from jaxaudit.ir.interfaces import Loop, Recurrence, Turn
from jaxaudit.rules.base import Obligation, Step, named


def unstopped(program: Program, facts: Facts) -> Iterator[Obligation]:
    """Find sums over steps of which some begin a new episode, where nothing stops them."""
    ended = episodes(facts)
    for one in returns(program, facts.flow) if ended else ():
        made = {reward.loop for reward in one.rewards if reward.loop in ended}
        if len(made) == 1 and not one.kept.masks and not any(_differs(value, one) for value in one.kept.factors):
            yield _finding(one.update, ended[next(iter(made))])
    for op, recorded in _cumulative(program, facts.flow) if ended else ():
        if recorded.loop in ended:
            yield _finding(op, ended[recorded.loop])


@remembered
def episodes(facts: Facts) -> Mapping[Op | None, Reading]:
    """Return the loops that make steps and begin a new episode where a flag is set, each with that place.

    An episode that ends by its length alone may well be as long as the loop.
    """
    flow, found = facts.flow, dict[Op | None, Reading]()
    for one in readings(facts):
        if one.what != "reset" or not one.ends or all(_is_limit(reason, flow) for reason in _reasons(one, flow)):
            continue
        for region, op in flow.places.up(flow.places.region_of[one.op]):
            loop = None if op is None else Loop.of(op)
            if loop is not None and loop.body is region and _is_carried(one, loop, flow):
                found.setdefault(op, one)
    return found


def _reasons(one: Reading, flow: Flow) -> list[Value]:
    return list(reasons(one.flag.moment.value, flow))


def _is_limit(reason: Value, flow: Flow) -> bool:
    """Whether a flag is set by a counter that got to its limit."""
    made = flow.maker(reason)
    counter = made.value("x") if made is not None and made.function in ORDERINGS else None
    count = None if counter is None else flow.maker(counter)
    return count is not None and count.function == "add" and len(count.operands) == 1


def _is_carried(one: Reading, loop: Loop, flow: Flow) -> bool:
    """Whether what is reset is the state that a loop carries."""
    return any(
        old is not new and not {*one.op.results}.isdisjoint(same_step(flow, (new,))) for old, new in loop.successors
    )


def _differs(factor: Value, one: Return) -> bool:
    """Whether a factor of what was added up so far may be another one in each step, and stop it."""
    turn = {*Loop(one.op).body.params} - {one.carry}
    return factor is not one.carry and not turn.isdisjoint(same_step(one.sums.flow, (factor,)))


def _cumulative(program: Program, flow: Flow) -> Iterator[tuple[Op, Moment]]:
    """Return the cumulative sums from the last step to the first, and what they add up."""
    for op in program.named("array.scan"):
        view = Recurrence.of(op)
        if view is None or op.function != "cumsum" or view.axis not in (0, None):
            continue
        turn = Turn.of(flow.maker(view.elements[0]))
        if view.reverse or (turn is not None and turn.axis == 0):
            yield op, moment(flow, view.elements[0] if turn is None else turn.base)


def _finding(update: Op, reset: Reading) -> Obligation:
    flag = named(reset.flag.moment.value, "the flag")
    return Obligation(
        update.span,
        message=f"what is added up here goes on where {flag} is set and a new episode begins",
        current=f"the last steps of an episode are credited with what the next one brings: {flag} stops nothing here",
        expected=f"what was added up so far does not count where {flag} of the step is set",
        steps=(Step(reset.op.span, f"where {flag} is set, the state is replaced by that of a new episode"),),
        suggestion="record the flag of each step, and multiply what was added up so far by its opposite",
    )
