"""The rule `leak-across-episodes`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.endings import Reading, readings, reasons
from jaxaudit.analyses.lineage.moments import Moment, moment, same_step
from jaxaudit.analyses.lineage.recursions import Recursion, recursions
from jaxaudit.analyses.lineage.returns import Return, returns
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import COMPARISONS, ORDERINGS
from jaxaudit.ir.interfaces import Loop, Recurrence, Turn, complement
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, named, proved
from jaxaudit.rules.envs._shared.recorded_flags import recorded_flags

_ROLLOUT = """
def returns(state, keys):
    def act(carry, key):
        state, done = carry
        state = jnp.where(done, 0.0, state) + jax.random.normal(key)
        ended = jnp.abs(state) > 3.0
        return (state, ended), (state ** 2, {flag}){mark}

    def back(total, step):
        reward, done = step
        total = reward + 0.9 * total * (1.0 - done)
        return total, total

    _, steps = jax.lax.scan(act, (state, jnp.zeros((), bool)), keys)
    return jax.lax.scan(back, 0.0, steps, reverse=True)[1]
"""

_PROGRAM = """
def advantages(rewards, dones, values, last_value, gamma, lam):
    def step(carry, x):
        gae, next_value = carry
        reward, done, value = x
        delta = reward + gamma * next_value * {first} - value
        gae = delta + gamma * lam * {second}gae{mark}
        return (gae, value), gae

    start = (jnp.zeros_like(last_value), last_value)
    return jax.lax.scan(step, start, (rewards, dones, values), reverse=True)[1]
"""


class LeakAcrossEpisodes(Rule):
    """The end of an episode stops the next value, but not what was added up after it.

    ## What it does
    Finds scans that add up temporal differences in which the next value is masked at the end of an episode, and the
    carry is not. Finds steps that are recorded with the flag of the step before, where that flag stops what is added up
    from the steps after. Finds sums over the steps to come that nothing stops, where the loop that made the steps
    begins a new episode in the midst of them.

    ## Why is this bad?
    The first steps of the next episode, which has nothing to do with this one, are added to the advantages of its
    last steps. Shapes are right, nothing is raised, and learning suffers most where episodes are short.

    ## Example
        delta = reward + gamma * next_value * (1 - done) - value
        gae = delta + gamma * lam * gae

    ## Use instead
        gae = delta + gamma * lam * (1 - done) * gae

    ## When it cannot tell
    Where nothing in the sum shows that episodes end, there is nothing to judge.
    """

    summary = "Advantages of one episode flow into the one before."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(first="(1 - done)", second="(1 - done) * ", mark=""), "both are masked"),
        Example(_PROGRAM.format(first="jnp.where(done, 0.0, 1.0)", second="(1 - done) * ", mark=""), "in two ways"),
        Example(_PROGRAM.format(first="lam", second="", mark=""), "a task without an end"),
        Example(_ROLLOUT.format(flag="ended", mark=""), "the flag of the step"),
    )
    invalid = (
        Example(_PROGRAM.format(first="(1 - done)", second="", mark="  #!"), "only the next value is masked"),
        Example(_PROGRAM.format(first="lam", second="(1 - done) * ", mark="  #?"), "only the carry is masked"),
        Example(_PROGRAM.format(first="(1 - done)", second="done * ", mark="  #!"), "by opposites"),
        Example(_ROLLOUT.format(flag="done", mark="  #!"), "the flag of the step before"),
        Example(
            """
def advantages(rewards, dones, values, last_value):
    next_values = jnp.append(values[1:], last_value)
    deltas = rewards + jnp.where(dones, 0.0, 0.99 * next_values) - values

    def step(carry, delta):
        carry = delta + 0.9405 * carry  #!
        return carry, carry

    return jax.lax.scan(step, 0.0, deltas, reverse=True)[1]
""",
            "differences from outside",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every recursion that knows of the end of an episode."""
        shapes, flow = facts.get(Shapes), facts.flow
        yield from recorded_flags(program, facts)
        yield from _unstopped(program, facts)
        for one in recursions(program, flow):
            later, others = one.successor.factors, [value for value in one.kept.factors if value is not one.carry]
            ends = [value for value in later if _ends(value, one, flow, shapes)] + list(one.successor.masks)
            stops = [value for value in others if _ends(value, one, flow, shapes)]
            if _crossed(others, ends, flow) or _crossed(later, stops, flow):
                yield _turned(one, (*ends, *stops)[0])
            elif ends:
                masked = bool(one.kept.masks) or any(value in ends or one.differs(value) for value in others)
                yield _judged(one, ends[0], masked=masked)
            elif stops and sum(one.differs(value) for value in later) == 1:
                yield _unmasked(one, stops[0])


def _crossed(factors: Iterable[Value], masks: Iterable[Value], flow: Flow) -> bool:
    """Whether one factor is what a mask is the complement of: one where the mask is zero."""
    return not {complement(op) for op in map(flow.maker, masks)}.isdisjoint(factors)


def _unmasked(one: Recursion, stop: Value) -> Obligation:
    return Obligation(
        one.update.span,
        severity=Severity.WARNING,
        message="the next value counts here also where an episode ends, though the carry stops there",
        current="what was added up so far is masked where an episode ends, but the next value is not",
        expected="both are masked, unless episodes are only cut off and never end",
        steps=(Step(stop.span, "the carry is masked by this"),),
        suggestion="multiply the next value by the mask too, as in `gamma * (1 - done) * next_value`",
    )


def _judged(one: Recursion, end: Value, *, masked: bool) -> Obligation:
    span = one.update.span
    if masked:
        return proved(span, "the end of an episode stops both the next value and the carry")
    return Obligation(
        span,
        message="what is added up here does not stop at the end of an episode",
        current="the next value is masked where an episode ends, but what was added up so far is not",
        expected="the carry is multiplied by the same mask",
        steps=(Step(end.span, "the next value is masked by this"),),
        suggestion="multiply the carry by the mask too, as in `gamma * lam * (1 - done) * gae`",
    )


def _turned(one: Recursion, end: Value) -> Obligation:
    return Obligation(
        one.update.span,
        message="the next value and what is added up here are masked by opposites",
        current="one of them goes on only where an episode ends",
        expected="both are multiplied by the same mask",
        steps=(Step(end.span, "one is masked by this, the other by its opposite"),),
        suggestion="multiply both by one mask, as in `gamma * (1 - done) * next_value` and `lam * (1 - done) * gae`",
    )


def _ends(value: Value, one: Recursion, flow: Flow, shapes: Shapes) -> bool:
    """Whether a factor of the next value is another one in each step, and not the next value itself."""
    op = flow.maker(value)
    flags = complement(op) is not None or (op is not None and op.function in COMPARISONS)
    return flags and (one.differs(value) or bool(shapes.of(value).dims))


def _unstopped(program: Program, facts: Facts) -> Iterator[Obligation]:
    """Find sums over steps of which some begin a new episode, where nothing stops them."""
    ended = _episodes(facts)
    for one in returns(program, facts.flow) if ended else ():
        made = {reward.loop for reward in one.rewards if reward.loop in ended}
        if len(made) == 1 and not one.kept.masks and not any(_differs(value, one) for value in one.kept.factors):
            yield _finding(one.update, ended[next(iter(made))])
    for op, recorded in _cumulative(program, facts.flow) if ended else ():
        if recorded.loop in ended:
            yield _finding(op, ended[recorded.loop])


@remembered
def _episodes(facts: Facts) -> Mapping[Op | None, Reading]:
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
