"""Next values of a new episode: the state was replaced where one ended, and the mask leaves some ends out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.endings import Reading, readings, reasons
from jaxaudit.analyses.lineage.memory import met_in, read_from
from jaxaudit.analyses.lineage.moments import same_step
from jaxaudit.analyses.lineage.products import Product, Sums
from jaxaudit.analyses.lineage.returns import Flag, Return, flags, returns
from jaxaudit.analyses.queries import operands_of, through_ops, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.record import record, replace
from jaxaudit.rules.base import Obligation, Step, named, proved
from jaxaudit.rules.envs._shared.recorded_flags import recorder


@record
class _Reset:
    """A choice of a fresh state where an episode ended, for one of several reasons."""

    reading: Reading
    reasons: tuple[Value, ...]

    @property
    def flag(self) -> Value:
        """What is set where the state is replaced."""
        return self.reading.flag.moment.value


def new_episodes(program: Program, facts: Facts) -> Iterator[Obligation]:
    """List every next value that is computed of a state that was replaced where an episode ended."""
    flow = facts.flow
    found = [one for reading in readings(facts) if (one := _several(reading, flow)) is not None]
    for op in program.mapping("add") if found else ():
        for part in Sums.of(flow, {}).products(op.results[0]):
            stops = [flag for flag in flags(flow, part, {}) if flag.ends]
            others = [one for one in part.factors if one not in {flag.written for flag in stops}]
            yield from _judged(stops, [set(same_step(flow, others))] if stops else [], found, None, flow)
            yield from _of_memory(part, found, flow)
    for one in returns(program, flow) if found else ():
        for part in one.added:
            stops = [flag for flag in one.flags(part) if flag.ends]
            yield from _judged(stops, list(_next_steps(part, one, flow)) if stops else [], found, one.update, flow)


def _of_memory(part: Product, found: Sequence[_Reset], flow: Flow) -> Iterator[Obligation]:
    """Judge a next value that is read from a memory of steps, by the flag that was stored beside it."""
    follow = partial(operands_of, flow, through=through_ops("array.map", "array.convert"))
    for flag in flags(flow, part, {}):
        for kept in (kept for one in walk((flag.written,), follow) for kept in read_from(flow, one)):
            stored = flags(flow, Product(1.0, (kept.value,)), {})
            stops = [replace(one, written=flag.written) for one in stored if one.ends is not flag.ends]
            others = [one for one in part.factors if one is not flag.written] if stops else []
            for slot in (slot for one in others for slot in met_in(flow, one) if slot.is_beside(kept)):
                yield from _judged(stops, [set(same_step(flow, (slot.value,)))], found, slot.op, flow)


def _several(reading: Reading, flow: Flow) -> _Reset | None:
    found = tuple(reasons(reading.flag.moment.value, flow)) if reading.what == "reset" and reading.ends else ()
    return _Reset(reading, found) if len(found) > 1 and not reading.flag.moment.path else None


def _next_steps(part: Product, one: Return, flow: Flow) -> Iterator[set[Value]]:
    """Return what the values of the next step in a sum over the steps to come were computed from, a step before."""
    for factor in part.factors:
        found = one.moment(factor)
        loop = None if found.loop is None else Loop.of(found.loop)
        if loop is not None and found.shift == 1 and not found.path:
            own = set(same_step(flow, (found.value,)))
            yield set(same_step(flow, [after for param, after in loop.successors if param in own]))


def _judged(
    stops: Sequence[Flag], met: Sequence[set[Value]], found: Sequence[_Reset], update: Op | None, flow: Flow
) -> Iterator[Obligation]:
    masks = {flag.moment.value for flag in stops}.union(*(reasons(flag.moment.value, flow) for flag in stops))
    for reset in found if masks else ():
        own = [flag for flag in stops if not set(reset.reasons).isdisjoint(reasons(flag.moment.value, flow))]
        left = [one for one in reset.reasons if one not in masks]
        replaced = next((sources for sources in met if not sources.isdisjoint(reset.reading.op.results)), None)
        if replaced is None or not (own or reset.flag in masks):
            continue
        if reset.flag in masks or not left:
            yield proved(reset.reading.op.span, "the next value counts nowhere where the state was replaced")
        elif not _is_put_right(replaced, reset, flow):
            yield _finding(reset, own[0], left[0], replaced, update, flow)


def _is_put_right(met: set[Value], reset: _Reset, flow: Flow) -> bool:
    """Whether another choice by one of the flags comes after the reset, which may take the state from before it."""
    told = {reset.flag, *reset.reasons}
    for value in met:
        op = flow.maker(value)
        condition = None if op is None or op is reset.reading.op or op.name != "array.select" else op.value("condition")
        if condition is not None and op is not None and op.span != reset.reading.op.span:
            if not told.isdisjoint(same_step(flow, (condition,))):
                return True
    return False


def _finding(reset: _Reset, mask: Flag, left: Value, met: set[Value], update: Op | None, flow: Flow) -> Obligation:
    over, kept, other = named(reset.flag, "the flag"), named(mask.moment.value, "the mask"), named(left, "another one")
    place = update or recorder(mask.moment, met)
    made = flow.maker(mask.written)
    return Obligation(
        place.span if place is not None else reset.reading.op.span,
        message=f"where {other} is set and {kept} is not, the next value is that of a new episode",
        current=f"the state is replaced where {over} is set, and the next value counts unless {kept} is",
        expected="the next value is that of the state before it was replaced, or does not count there",
        steps=(
            Step(reset.reading.op.span, f"the state is replaced by a fresh one here, also where {other} is set"),
            *((Step(made.span, f"the next value is masked by {kept} alone"),) if made is not None else ()),
        ),
        suggestion=f"keep the last observation of the episode for the next value, or mask it by {over}",
    )
